"""Evaluation of answers: certificate, geometry, diagnosis, and bounds along a parameter."""
