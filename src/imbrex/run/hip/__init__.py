"""Code objects on an AMD GPU, through hip-python."""
