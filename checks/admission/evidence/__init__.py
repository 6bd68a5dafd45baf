"""What is simulated for the claims about admission control."""
