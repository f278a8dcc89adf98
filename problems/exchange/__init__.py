"""Files in which problems go to other programs, and answers come back."""
