"""Claims about contextual queueing bandits."""

from checks.contextual import switching as switching
from checks.contextual import optimality as optimality
from checks.contextual import coupling as coupling
