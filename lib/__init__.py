"""What Survives Into Context: the thin library that the notebooks call."""
