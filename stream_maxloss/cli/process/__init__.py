"""What belongs to a process rather than to a run: signals, shells, imports."""
