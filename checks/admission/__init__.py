"""Claims about admission control of a partially observed queueing network."""

from checks.admission import norton as norton
from checks.admission import full_information as full_information
from checks.admission import dominance as dominance
from checks.admission import mixing as mixing
from checks.admission import spectrum as spectrum
from checks.admission import thresholds as thresholds
from checks.admission import bias as bias
from checks.admission import perturbation as perturbation
from checks.admission import throughput as throughput
from checks.admission import samples as samples
from checks.admission import confidence as confidence
from checks.admission import regions as regions
from checks.admission import planning as planning
from checks.admission import regret as regret
from checks.admission import corollaries as corollaries
from checks.admission import published_bound as published_bound
from checks.admission import module_variance as module_variance
from checks.admission import experiments as experiments
