"""Claims about contextual queueing bandits."""

from checks.contextual import coupling as coupling
