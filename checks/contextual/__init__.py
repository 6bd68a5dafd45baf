"""Claims about contextual queueing bandits."""

from checks.contextual import switching as switching
from checks.contextual import optimality as optimality
from checks.contextual import deviations as deviations
from checks.contextual import coupling as coupling
from checks.contextual import widths as widths
from checks.contextual import bad_rounds as bad_rounds
from checks.contextual import exploration as exploration
from checks.contextual import drift as drift
from checks.contextual import tail as tail
from checks.contextual import ramp as ramp
from checks.contextual import arrivals as arrivals
from checks.contextual import decaying_regret as decaying_regret
from checks.contextual import adversarial as adversarial
from checks.contextual import lower_bound as lower_bound
from checks.contextual import experiments as experiments
from checks.contextual import real_data as real_data
