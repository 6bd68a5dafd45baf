/* EXP3 on the saturated recharging bandit: the loop of simlib, as one writes it in C.
 *
 * The same generator, order of additions and bookkeeping as simlib.recharge.simulate, so that both
 * walk the same path to the last bit. That needs -ffp-contract=off: by default GCC fuses
 * factor * weight + floor into one rounding, where Numba rounds twice.
 */

#include <math.h>
#include <stdint.h>

enum { OK, BAD_ARM, BAD_STATE };

static const double LARGE = 1e100, FLOOR = 1e-300;

/* One uniform number from xoshiro256+. */
static inline double uniform(uint64_t *restrict rng)
{
    uint64_t s0 = rng[0], s1 = rng[1], s2 = rng[2], s3 = rng[3];
    uint64_t word = s0 + s3, shifted = s1 << 17;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= shifted;
    rng[0] = s0;
    rng[1] = s1;
    rng[2] = s2;
    rng[3] = (s3 << 45) | (s3 >> 19);
    return (double)(int64_t)(word >> 11) * 0x1p-53;
}

/* Draw an arm from the mixed strategy. */
static inline int64_t act(const double *restrict strategy, int64_t arms, uint64_t *restrict rng)
{
    double u = uniform(rng);
    for (int64_t j = 0; j < arms; j++) {
        u -= strategy[j];
        if (u < 0.0)
            return j;
    }
    int64_t last = arms - 1;
    while (last > 0 && strategy[last] <= 0.0)
        last--;
    return last;
}

/* Learn from the reward of the arm just pulled; a failure changes nothing. */
static inline void update(double *restrict weights, double *restrict strategy,
                          const double *restrict rate, int64_t arms, double exploration,
                          int64_t arm, double reward)
{
    if (!(reward > 0.0))
        return;
    weights[arm] *= exp(rate[arm] * reward / strategy[arm]);
    double total = 0.0;
    for (int64_t j = 0; j < arms; j++)
        total += weights[j];
    if (total > LARGE) {
        double scale = 1.0 / total;
        total = 0.0;
        for (int64_t j = 0; j < arms; j++) {
            double scaled = weights[j] * scale;
            weights[j] = scaled > FLOOR ? scaled : FLOOR;
            total += weights[j];
        }
    }
    double factor = (1.0 - exploration) / total, floor = exploration / (double)arms;
    for (int64_t j = 0; j < arms; j++)
        strategy[j] = factor * weights[j] + floor;
}

static inline int is_finite(const double *state, int64_t entries)
{
    for (int64_t i = 0; i < entries; i++)
        if (state[i] - state[i] != 0.0)
            return 0;
    return 1;
}

/* Run steps start..stop; everything that a run remembers is in the arrays.
 *
 * state    (3, arms)        weights, mixed strategy, learning rate
 * table    (arms, ages, 2)  probability of success by age, its running sum
 * counts   (3, arms)        step of the last pull or 0, pulls, realised reward
 * sums     (3, arms)        uniform of the last pull, utility, hindsight value
 * scalars  (2)              previous arm, switches
 */
int64_t advance(int64_t arms, int64_t ages, double exploration, double *restrict state,
                uint64_t *restrict actions, uint64_t *restrict rewards,
                const double *restrict table, int64_t *restrict counts, double *restrict sums,
                int64_t *restrict scalars, int64_t start, int64_t stop, int64_t check_every)
{
    double *weights = state, *strategy = state + arms, *rate = state + 2 * arms;
    int64_t *last_pull = counts, *pulls = counts + arms, *earned = counts + 2 * arms;
    double *kept = sums, *utility = sums + arms, *hindsight = sums + 2 * arms;
    int64_t previous = scalars[0], switches = scalars[1];

    for (int64_t t = start; t <= stop;) {
        int64_t block_end = stop < t + check_every - 1 ? stop : t + check_every - 1;
        for (; t <= block_end; t++) {
            int64_t arm = act(strategy, arms, actions);
            if (arm < 0 || arm >= arms)
                return BAD_ARM;
            double u = uniform(rewards), available = 1.0, reward = 1.0;
            int64_t age = t - last_pull[arm];
            if (last_pull[arm] == 0) {
                hindsight[arm] += (double)age;
            } else {
                const double *row = table + 2 * ages * arm;
                if (age < ages) {
                    available = row[2 * age];
                    hindsight[arm] += row[2 * age + 1];
                } else {
                    hindsight[arm] += row[2 * ages - 1] + (double)(age - (ages - 1));
                }
                reward = kept[arm] < available ? 1.0 : 0.0;
            }
            kept[arm] = u;
            utility[arm] += available;
            last_pull[arm] = t;
            pulls[arm]++;
            earned[arm] += (int64_t)reward;
            switches += arm != previous;
            previous = arm;
            update(weights, strategy, rate, arms, exploration, arm, reward);
        }
        if (!is_finite(state, 3 * arms))
            return BAD_STATE;
    }
    scalars[0] = previous;
    scalars[1] = switches;
    return OK;
}
