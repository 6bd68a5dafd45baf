"""What is simulated for the claims about many queues, a module for each chapter."""
