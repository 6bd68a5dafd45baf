"""Claims about one learner on geometrically recharging arms (sections 2, 3 and 5 of the source)."""

from checks.recharge import hamacher_sum as hamacher_sum
from checks.recharge import optimum as optimum
from checks.recharge import competitive_ratio as competitive_ratio
from checks.recharge import exp3_at_work as exp3_at_work
from checks.recharge import queue_in_front as queue_in_front
from checks.recharge import other_bandits as other_bandits
from checks.recharge import slow_learners as slow_learners
from checks.recharge import beyond as beyond
