"""What is said of an answer: certificate, geometry, diagnosis, and bounds along a parameter."""
