"""What checks are written with: one small module for each method."""
