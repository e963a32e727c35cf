"""What was observed: response matrices, their readers and their checks."""
