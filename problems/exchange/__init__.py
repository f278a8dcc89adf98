"""Files in which problems go to other programs and come from them, and answers come back."""
