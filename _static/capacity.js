// The calculator of book/capacity.md. Answers bear the names of the fields of simlib.capacity.Plan,
// whose formulas these are; the browser test compares the two.
(() => {
  "use strict";
  const form = document.getElementById("capacity"), field = form.elements;
  const $ = id => document.getElementById(`capacity-${id}`);
  const KINDS = { arrivals: "queue", services: "server" };
  const sum = list => list.reduce((a, b) => a + b, 0);

  // Rationals [numerator, denominator]: at equality a system is unstable, and rounding would decide.
  const rate = text => {
    const [, a, b, c, d] = /^(?:(\d{0,9})\.?(\d{0,18})|(\d{1,18})\/(\d{1,18}))$/.exec(text) || [];
    const x = d ? [BigInt(c), BigInt(d)] : [BigInt((a || "") + (b || "")), 10n ** BigInt((b || "").length)];
    if (0n < x[0] && x[0] < x[1]) return x;
    throw Error(`“${text}” is no rate: write a number between 0 and 1, such as 0.3 or 1/3. Commas separate rates.`);
  };
  const list = text => text.split(",").flatMap(part => {
    const [, count, each] = /^\s*(?:(\d{1,4})\s*x)?(.*)$/.exec(part);
    return Array(Number(count ?? 1)).fill(each.trim());
  });
  const plus = ([a, b], [c, d]) => [a * d + c * b, b * d];
  const minus = (x, [c, d]) => plus(x, [-c, d]);
  const times = ([a, b], [c, d]) => [a * c, b * d];
  const over = (x, [c, d]) => times(x, [d, c]);
  const less = ([a, b], [c, d]) => a * d < c * b;
  const rest = ([a, b]) => [b - a, b];
  const odds = x => over(x, rest(x));
  const largest = rates => rates.reduce((x, y) => less(x, y) ? y : x);
  const number = ([a, b]) => Number(a * 10n ** 40n / b) / 1e40;

  // The least number of servers that bring strictly more than what is missing.
  const enough = (missing, each) => {
    const [a, b] = over(missing, each);
    return a < 0n ? 0 : Number(a / b + 1n);
  };
  // The least number of servers that lift 1 - prod(1 - mu) above the arrival rate.
  const atLeast = (lam, fails, each) => {
    if (less(fails, rest(lam))) return 0;
    const count = Math.log(number(rest(lam)) / number(fails)) / Math.log1p(-number(each));
    const near = Math.round(count);
    if (near > 1e4 || Math.abs(count - near) > 1e-9 * Math.max(near, 1)) return Math.floor(count) + 1;
    const left = times(fails, rest(each).map(x => x ** BigInt(near)));
    return near + (less(left, rest(lam)) ? 0 : 1);
  };
  const worstShare = m => {
    const share = r => r / (1 + r) / -Math.expm1(-m * Math.log1p(r / m));
    let low = 0.5, high = 4;
    while (m > 1 && high - low > 1e-6) {
      const a = low + (high - low) / 3, b = high - (high - low) / 3;
      if (share(a) < share(b)) high = b; else low = a;
    }
    return m > 1 ? share(low) : 1;
  };
  const kappa = (mu, h, pi) => {
    const pair = (i, j) => {
      const chosen = pi[i] + pi[j], stay = (1 - mu[i]) * (1 - mu[j]);
      return pi[i] * pi[j] * stay * chosen * (1 - h) / (1 - stay * (1 - chosen));
    };
    return h * (1 - h) - h * h * sum(mu.map((_, i) => sum(mu.slice(0, i).map((_, j) => pair(i, j)))));
  };

  // What a router that accounts for recharge carries at least: the best of the schedules that
  // simlib.recharge.planners.best_periodic_schedule tries, evenly spread ones and the end of a greedy run.
  const aware = mu => {
    const m = mu.length, longest = Math.max(64, 2 * m), decay = mu.map(x => -Math.log1p(-x)), all = sum(decay);
    if (m > 64) return null;
    const value = cycle => {
      const n = cycle.length, last = [];
      cycle.forEach((arm, t) => { last[arm] = t - n; });
      return sum(cycle.map((arm, t) => {
        const gap = t - last[arm];
        last[arm] = t;
        return -Math.expm1(-decay[arm] * gap);
      })) / n;
    };
    const even = n => {
      const parts = decay.map(x => Math.round(1e9 * n * x / all) / 1e9), counts = parts.map(Math.floor);
      const order = parts.map((x, j) => [counts[j] - x, j]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      for (const [, j] of order.slice(0, n - sum(counts))) counts[j]++;
      const done = mu.map(() => 0);
      return Array.from({ length: n }, (_, t) => {
        const next = j => (done[j] + 1) / counts[j];
        const arm = done.reduce((best, x, j) =>
          x * n < counts[j] * (t + 1) && (best < 0 || next(j) < next(best)) ? j : best, -1);
        done[arm]++;
        return arm;
      });
    };
    const ages = mu.map(() => Infinity), run = [];
    for (let t = 0; t < 4 * longest; t++) {
      const index = ages.map((age, j) => age * decay[j]), top = Math.max(...index) * (1 - 1e-12);
      const arm = index.findIndex(x => x >= top);
      run.push(arm);
      ages.forEach((age, j) => { ages[j] = j === arm ? 1 : age + 1; });
    }
    let best = 0;
    for (let n = 1; n <= longest; n++) best = Math.max(best, value(even(n)), value(run.slice(-n)));
    return best;
  };

  // Peak of the fluid queue on EXP3's mean-field path, in time eta t, by Runge and Kutta. The state
  // holds the log-weights and the queue.
  const peak = (lam, rho, eta) => {
    const m = rho.length, gamma = m * eta;
    const flow = state => {
      const theta = state.slice(0, m), top = Math.max(...theta);
      const w = theta.map(x => Math.exp(x - top)), all = sum(w);
      const p = w.map(x => (1 - gamma) * x / all + eta), free = rho.map((r, j) => r / (r + p[j]));
      const mean = sum(free) / m;
      return [...free.map(x => x - mean), lam - sum(p.map((x, j) => x * free[j]))];
    };
    const step = (s, dt) => {
      const to = (k, part) => flow(s.map((x, i) => x + part * dt * k[i]));
      const a = flow(s), b = to(a, 1 / 2), c = to(b, 1 / 2), d = to(c, 1);
      return s.map((x, i) => x + dt / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]));
    };
    let state = Array(m + 1).fill(0), time = 0, dt = 0.05, growth = gamma < 1 ? flow(state)[m] : 1;
    for (let count = 0; gamma < 1 && growth > 0 && count < 4e5 / m; count++) {
      const next = step(state, dt), then = flow(next)[m];
      if (then > 0 && dt === 0.05 && Math.abs(then - growth) < 1e-12) break; // it rests below
      if (then > 0) [state, time, growth] = [next, time + dt, then];
      else if (dt > 1e-12) dt /= 2;
      else growth = 0;
    }
    return growth > 0 ? [null, null] : [state[m] / eta, time / eta];
  };

  const plan = (arrivals, services, eta, extra, router) => {
    const lambda = arrivals.reduce(plus), service = services.reduce(plus), fastest = largest(services);
    const each = extra || fastest, asked = over(lambda, rest(largest(arrivals)));
    const n = arrivals.length, m = services.length, mu = services.map(number);
    const lam = number(lambda), most = number(largest(arrivals)), all = number(service);
    const found = {
      arrival_rate: lam, overprovisioning: all / lam, overprovisioning_factor: 1 / (1 - most),
      required_scale: lam / (all * (1 - most)), saturated_floor: n * all / (n + all),
      binding_queues: arrivals.flatMap((x, i) => less(x, largest(arrivals)) ? [] : [i]),
      servers_needed_overprovisioned: enough(minus(asked, service), each), router_rate: null,
    };
    let stable = less(asked, service), carried = less(lambda, service);
    if (n > 1) {
      Object.assign(found, {
        guaranteed_rate: lam * all / (lam + all * most), ceiling: Math.min(all, lam / most),
        servers_needed: found.servers_needed_overprovisioned,
        servers_needed_at_least: enough(minus(lambda, service), each),
      });
      const alike = router === "uniform" && services.every(x => !less(x, fastest));
      if (router === "exp3-ix" || alike) found.router_rate = found.guaranteed_rate;
    } else {
      const rho = mu.map(x => x / (1 - x)), h = sum(rho) / (1 + sum(rho)), lost = (m - 1) * h * h / 2;
      const missing = minus(odds(lambda), services.map(odds).reduce(plus));
      const fails = services.map(rest).reduce(times), ceiling = number(rest(fails));
      const margin = -number(missing) * (1 - lam) * (1 - h), k = kappa(mu, h, rho.map(x => x / sum(rho)));
      [stable, carried] = [missing[0] < 0n, less(lambda, rest(fails))];
      Object.assign(found, {
        guaranteed_rate: h, ceiling, margin,
        bufferless_rate: number(fastest), missing_odds: number(missing),
        servers_needed: enough(missing, odds(each)), servers_needed_at_least: atLeast(lambda, fails, each),
        guaranteed_share: h / ceiling, price_of_learning: ceiling / h, worst_share: worstShare(m),
        router_rate: {
          ucb1: number(fastest), "epsilon-greedy": number(fastest),
          uniform: sum(rho.map(x => x / (1 + m * x))),
          "round-robin": sum(mu.map(x => 1 - (1 - x) ** m)) / m,
        }[router] ?? h,
      });
      if (stable) {
        found.settled_queue_estimate = k / margin;
        if (m > 1) found.largest_learning_rate = margin / lost;
      }
      if (eta) {
        found.effective_margin = margin - eta * lost;
        found.relaxation_time = 1 / (eta * h * (1 - h));
        if (found.effective_margin > 0) found.learning_queue_estimate = k / found.effective_margin;
        if (stable) [found.peak_backlog, found.peak_time] = peak(lam, rho, eta);
      }
    }
    found.verdict = stable ? "guaranteed" : carried ? "not guaranteed" : "impossible";
    return found;
  };

  // What is shown.
  const short = (x, digits = 6) => String(Number(x.toPrecision(digits))).replace("-", "−");
  const FIRST_ORDER = /queue_estimate|effective|largest_learning|relaxation|^peak/;
  const LINES = { ceiling: "ceiling", guaranteed_rate: "guaranteed", arrival_rate: "arrivals" };
  const draw = (found, arrivals, services, each) => {
    const needed = found.servers_needed, every = Math.ceil(Math.min(Math.max(6, needed + 2), 60) / 12);
    const at = k => plan(arrivals, [...services, ...Array(k).fill(each)], 0, each);
    const counts = [...Array(every > 1 ? 13 : Math.max(7, needed + 3)).keys()].map(i => i * every);
    const plans = counts.map(at), end = counts.at(-1), last = plans.at(-1);
    const top = Math.ceil(2 * Math.max(...plans.map(p => p.ceiling))) / 2;
    const X = k => 30 + 230 * k / end, Y = y => 150 - 140 * y / top;
    const text = (x, y, name, it) => `<text x="${x}" y="${y}" class="${name}">${it}</text>`;
    let svg = '<path d="M30 10V150H260"/>' + text(145, 178, "middle", "servers added"), below = 0;
    for (const y of [0, top / 2, top]) svg += text(26, Y(y) + 4, "end", y);
    for (const k of counts) if (k % (2 * every) === 0) svg += text(X(k), 164, "middle", k);
    for (const name of Object.keys(LINES).sort((a, b) => last[b] - last[a])) {
      const points = plans.map((p, i) => `${X(counts[i])},${Y(p[name])}`).join(" ");
      below = Math.max(below + 12, Y(last[name]) + 4);
      svg += `<polyline class="${name}" points="${points}"/>` + text(264, below, name, LINES[name]);
    }
    if (needed <= end) svg += `<circle cx="${X(needed)}" cy="${Y(at(needed).guaranteed_rate)}" r="4"/>`;
    $("plot").innerHTML = svg;
    const more = `With ${needed} more server${needed > 1 ? "s" : ""} of rate ${short(number(each))} the`;
    $("caption").textContent = `Packets per step. ${needed ? more : "The"} guaranteed rate exceeds the arrivals.`;
  };

  const show = () => {
    const read = kind => {
      const rates = list(field[kind].value).map(rate);
      if (rates.length && rates.length <= 1000) return rates;
      throw Error(`There must be from 1 to 1000 ${KINDS[kind]}s.`);
    };
    const verdict = $("verdict"), router = field.router.value;
    try {
      const arrivals = read("arrivals"), services = read("services"), one = arrivals.length === 1;
      const extra = field.new.value.trim() && rate(field.new.value.trim()), eta = Number(field.eta.value);
      if (!(eta >= 0 && eta < 1e9)) throw Error(`“${field.eta.value}” is no learning rate above 0.`);
      const found = plan(arrivals, services, eta, extra, router), queues = one ? "one" : "many";
      if (one) found.aware_rate = aware(services.map(number));
      const falls = /ucb1|epsilon/.test(router), fixed = /uniform|round/.test(router);
      const poor = one ? found.router_rate <= found.arrival_rate : falls || fixed && found.router_rate === null;
      const about = one ? { falls: "falls", fixed: poor ? "short" : "fixed" }
        : { falls: "regret", fixed: poor && "blind" };
      const notes = [`${queues} ${found.verdict}`, queues,
        falls ? about.falls : fixed && about.fixed,
        one && found.verdict === "not guaranteed" && found.arrival_rate < found.aware_rate - 1e-12 && "aware",
        ...found.verdict === "guaranteed" ? [/^exp3$|tsallis/.test(router) && "unproved",
          /exp3/.test(router) && found.effective_margin <= 0 && "fast"] : []];
      for (const part of document.querySelectorAll("[data-if]")) {
        part.hidden = !notes.includes(part.dataset.if);
      }
      for (const cell of document.querySelectorAll("[data-answer]")) {
        const answer = found[cell.dataset.answer] ?? null;
        cell.dataset.value = JSON.stringify(answer);
        cell.textContent = answer === null ? "–"
          : Array.isArray(answer) ? answer.map(i => i + 1).join(", ")
          : FIRST_ORDER.test(cell.dataset.answer) ? `≈ ${short(answer, 3)}` : short(answer);
      }
      verdict.className = found.verdict === "impossible" ? "verdict-refuted"
        : found.verdict === "guaranteed" && !poor ? "verdict-holds" : "verdict-supported";
      verdict.dataset.value = JSON.stringify(found.verdict);
      draw(found, arrivals, services, extra || largest(services));
      $("error").textContent = "";
    } catch (error) {
      $("error").textContent = error.message;
    }
    $("answers").hidden = verdict.hidden = $("error").textContent !== "";
  };

  // What is set.
  const sliders = kind => {
    const rates = list(field[kind].value), box = $(kind);
    box.innerHTML = "";
    if (rates.length <= 12) rates.forEach((text, i) => {
      const name = `${KINDS[kind]} ${i + 1}`, row = document.createElement("div");
      row.innerHTML = `<label for="${kind}-${i}">${name}</label><input type="range" id="${kind}-${i}"
        min="0.01" max="0.99" step="0.01"><output></output>
        <button type="button" aria-label="Remove ${name}">×</button>`;
      const [, slider, shown, remove] = row.children;
      shown.textContent = text;
      try { slider.value = number(rate(text)); } catch { /* it is said below */ }
      slider.oninput = () => {
        rates[i] = shown.textContent = slider.value;
        field[kind].value = rates.join(", ");
        show();
      };
      remove.onclick = () => set(kind, rates.filter((_, j) => j !== i));
      remove.disabled = rates.length === 1;
      box.append(row);
    });
  };
  const set = (kind, rates) => {
    field[kind].value = rates.join(", ");
    sliders(kind);
    show();
  };
  // What is set stands in the address; browsers refuse to change it too often.
  let timer;
  form.oninput = form.onclick = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const state = String(new URLSearchParams(new FormData(form)));
      history.replaceState(null, "", "#" + state.replace(/\+/g, "").replace(/%2C/g, ","));
    }, 300);
  };
  const restore = () => {
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      const found = field.namedItem(name);
      if (found) found.value = value;
    }
    Object.keys(KINDS).forEach(sliders);
    show();
  };
  for (const kind of Object.keys(KINDS)) {
    field[kind].oninput = () => { sliders(kind); show(); };
    $(`add-${kind}`).onclick = () => set(kind, [...list(field[kind].value), "0.3"]);
  }
  $("eta").oninput = () => { field.eta.value = Number((10 ** $("eta").value).toPrecision(2)); show(); };
  $("new").oninput = () => { field.new.value = $("new").value; show(); };
  field.eta.oninput = field.new.oninput = field.router.onchange = show;
  form.onsubmit = event => event.preventDefault();
  addEventListener("hashchange", () => location.hash.includes("=") && restore());
  restore();
})();
