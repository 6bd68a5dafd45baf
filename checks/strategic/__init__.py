"""Claims about many queues of selfish learners (section 4 of the source)."""

from checks.strategic import longest_queue as longest_queue
from checks.strategic import potential as potential
from checks.strategic import sufficiency as sufficiency
from checks.strategic import windows as windows
from checks.strategic import no_less as no_less
from checks.strategic import priorities as priorities
from checks.strategic import expected_regret as expected_regret
from checks.strategic import restarted as restarted
from checks.strategic import guarded as guarded
