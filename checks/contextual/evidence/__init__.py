"""What is simulated for the claims about contextual queueing bandits."""
