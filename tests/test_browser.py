"""The built book as a reader sees it: in a browser, without a network, in the dark, on a phone."""

import functools
import http.server
import json
import os
import re
import shutil
import threading

import nbformat
import pytest
from bs4 import BeautifulSoup

from book import chapters
from simlib.capacity import plan

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}

# Elements of the article that are wider than the page and have no box of their own to scroll in.
TOO_WIDE = """() => {
  const article = document.querySelector('.bd-article-container');
  const scrolls = e => ['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX);
  const held = e => e !== article && (scrolls(e) || held(e.parentElement));
  return [...article.querySelectorAll('*')]
    .filter(e => e.getBoundingClientRect().right > innerWidth && e.offsetParent
                 && !e.closest('mjx-assistive-mml') && !held(e.parentElement))
    .map(e => e.outerHTML.slice(0, 120));
}"""

# Formulas that a reader at a desk would have to scroll sideways.
TOO_LONG = """() => [...document.querySelectorAll('mjx-container[display=true]')]
  .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)
  .map(e => e.closest('div.proof, section:not(#proof-content)').id)"""

# Texts whose contrast with what lies behind them is below 4.5 (WCAG 2.1, level AA).
TOO_FAINT = """() => {
  const parse = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
  const over = (top, below) => {
    const a = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map(i => a * top[i] + (1 - a) * below[i]);
  };
  const behind = e => {
    if (!e) return [255, 255, 255];
    const colour = parse(getComputedStyle(e).backgroundColor);
    return colour.length > 3 && colour[3] === 0 ? behind(e.parentElement)
                                                : over(colour, behind(e.parentElement));
  };
  const luminance = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(
      v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const selector = 'p, li, td, th, dt, dd, figcaption *, .claim-id, .claim-verdict, .math, ' +
                   '.output.stream pre, .output.text_plain pre, .caption-number';
  return [...document.querySelector('.bd-article').querySelectorAll(selector)]
    .filter(e => e.offsetParent && e.textContent.trim() && !e.matches('.headerlink'))
    .map(e => {
      const ground = behind(e);
      const text = over(parse(getComputedStyle(e).color), ground);
      const [low, high] = [luminance(text), luminance(ground)].sort((x, y) => x - y);
      return [(high + 0.05) / (low + 0.05), e.outerHTML.slice(0, 120)];
    })
    .filter(([contrast]) => contrast < 4.5);
}"""


@pytest.fixture(scope="session")
def browser():
    required = os.environ.get("BROWSER_REQUIRED") == "1"
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None and not required:
        pytest.skip(f"no browser found (looked for {', '.join(BROWSERS)})")
    assert program, f"BROWSER_REQUIRED=1 and no browser found (looked for {', '.join(BROWSERS)})"
    from playwright.sync_api import sync_playwright  # here, so that a skip does not need it

    with sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=program, args=QUIET)


@pytest.fixture(scope="session")
def address(site):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            """Keep the test output to the tests."""

    handler = functools.partial(Handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def visit(browser, address):
    """Open pages of the book; nothing may go wrong on them, nothing be asked from outside."""
    context = browser.new_context(viewport=DESKTOP)
    outside, complaints = [], []

    def keep_inside(route):
        if route.request.url.startswith((f"{address}/", "data:", "blob:")):
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    def open_page(path):
        page = context.new_page()
        page.route("**/*", keep_inside)
        page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.goto(f"{address}/{path}")
        return page

    yield open_page
    context.close()
    assert not outside, f"asked from outside: {outside}"
    assert not complaints, f"the browser complains: {complaints}"


def statements(document):
    """How many statements (prf directives) the notebook or text of a document shows."""
    notebook = chapters.ROOT / f"{document}.ipynb"
    if not notebook.exists():
        return len(re.findall(r"\{prf:\w+\} ", (chapters.ROOT / f"{document}.md").read_text()))
    shown = []
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "markdown":
            shown.append(cell.source)
        shown += [str(o.get("data", {}).get("text/markdown", "")) for o in cell.get("outputs", [])]
    return len(re.findall(r"^[`:]{3,}\{prf:\w+\}", "\n".join(shown), re.MULTILINE))


@pytest.mark.parametrize("document", chapters.toc())
def test_a_page_reads_well(visit, document):
    page = visit(f"{document}.html")
    if page.locator(".math").count():
        page.wait_for_function("window.MathJax && MathJax.startup && MathJax.startup.promise")
        page.evaluate("MathJax.startup.promise")
    page.wait_for_function("[...document.images].every(image => image.complete)")

    bare = "e => [...e.querySelectorAll('.math')].filter(m => !m.querySelector('mjx-container'))"
    article = page.locator("article.bd-article")
    assert article.evaluate(f"e => ({bare})(e).map(m => m.outerHTML)") == [], "formulas not set"
    # MathJax shows an unknown macro in red instead of stopping at it.
    mistakes = page.locator("mjx-merror, mjx-mtext[style*='color: red']")
    assert mistakes.count() == 0, "formulas with errors"

    assert page.evaluate(TOO_LONG) == [], "formulas to break into lines (in these sections)"

    assert article.locator("div.proof").count() == statements(document)

    for image in article.locator("img").all():
        assert image.evaluate("e => e.naturalWidth") > 0
        alt = image.get_attribute("alt") or ""
        assert alt.strip(), image.get_attribute("src")
        assert not alt.endswith(".png"), "the file name instead of alt text"

    for theme in ("light", "dark"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        page.wait_for_timeout(50)  # colours change in a transition
        assert page.evaluate(TOO_FAINT) == [], f"too faint in {theme} mode"

    page.set_viewport_size(PHONE)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate(TOO_WIDE) == [], "wider than a phone"


def test_search_finds_a_claim(visit, site):
    for document in chapters.toc():
        page = BeautifulSoup((site / f"{document}.html").read_text(), "html.parser")
        if box := page.select_one("article div.proof"):
            break
    assert box, "no statement in the whole book"
    for formula in box.select(".math, .caption-number"):
        formula.decompose()
    words = re.findall(r"\b[a-z]{4,}\b", box.get_text(" "))[:4]
    page = visit(f"search.html?q={'+'.join(words)}")
    page.locator("ul.search li a").first.wait_for(timeout=5000)
    found = page.locator("ul.search li a").evaluate_all("links => links.map(a => a.href)")
    assert any(f"/{document}.html" in link for link in found), f"{words} leads to {found}"


def test_the_first_page_opens(visit):
    page = visit("index.html")
    page.wait_for_url(f"**/{chapters.toc()[0]}.html")
    assert page.locator("article h1").count() == 1


# --- the capacity calculator

# Arrival rates, service rates, learning rate, rate of servers to add, router.
SYSTEMS = [
    ("0.59", "0.5, 0.1, 0.3", "0.001", "0.3", "exp3"),
    ("0.76", "0.5, 0.33, 0.33, 0.33, 0.25, 0.25, 0.1", "0.0005", "0.2", "tsallis-inf"),
    ("0.6", "0.5, 0.1, 0.3", "0.02", "", "ucb1"),  # too fast a rate
    ("0.75", "7x0.3", "", "0.3", "uniform"),  # carry exactly 3/4, which is not enough
    ("0.9", "0.5, 0.33, 0.33, 0.33, 0.25, 0.25, 0.1", "", "0.3", "exp3"),  # recharge-aware only
    ("0.75", "0.5, 1/2", "0.01", "0.5", "round-robin"),  # the ceiling itself
    ("1/3", "0.4", "0.01", "0.1", "epsilon-greedy"),
    ("0.9", "0.01, 0.02", "0.001", "0.015", "round-robin"),
    ("0.6, 0.3, 0.1", "22x0.1", "0.001", "0.1", "exp3"),
    ("0.3, 0.2, 0.3", "0.9, 0.8, 0.5", "", "0.25", "exp3-ix"),
    ("0.5, 0.5", "4x0.5", "", "", "uniform"),  # the boundary of Theorem 4.1
    ("0.9, 0.8", "0.3, 0.3", "", "0.01", "ucb1"),
]

ANSWERS = """() => Object.fromEntries(
  [...document.querySelectorAll('[data-answer]')]
    .filter(cell => !cell.closest('[hidden]'))
    .map(cell => [cell.dataset.answer, JSON.parse(cell.dataset.value)]))"""


def rates(text):
    """What the calculator reads as rates: ``0.5, 3x0.1`` are four."""
    for part in text.split(","):
        count, times, rate = part.strip().rpartition("x")
        yield from [rate] * (int(count) if times else 1)


def test_the_calculator_agrees_with_python(visit):
    page = visit("book/capacity.html")
    seen = set()
    for arrivals, services, eta, new, router in SYSTEMS:
        for name, text in {
            "arrivals": arrivals,
            "services": services,
            "eta": eta,
            "new": new,
        }.items():
            page.fill(f"[name={name}]", text)
        page.select_option("[name=router]", router)
        shown = page.evaluate(ANSWERS)
        expected = plan(
            list(rates(arrivals)),
            list(rates(services)),
            learning_rate=float(eta) if eta else None,
            new_server_rate=new or None,
            router=router,
        ).as_dict()
        for name, value in shown.items():  # to seven digits; counts and what does not apply exactly
            wanted = expected[name]
            if isinstance(wanted, float) and value is not None:
                wanted = pytest.approx(wanted, rel=1e-7, abs=1e-12)
            assert value == wanted, (arrivals, services, name)
        verdict = page.locator("#capacity-verdict")
        assert json.loads(verdict.get_attribute("data-value")) == expected["verdict"]
        if expected["verdict"] == "guaranteed" and not expected["guaranteed"]:
            assert "Warning" in verdict.inner_text()
        aware = expected["aware_rate"] or 0  # None for many queues
        carried = expected["verdict"] == "not guaranteed" and expected["arrival_rate"] < aware
        assert ("accounts for recharge" in verdict.inner_text()) == carried
        seen |= {name for name, value in shown.items() if value is not None}
    # Each answer of the page was compared at least once with a number.
    assert seen == {
        cell.get_attribute("data-answer") for cell in page.locator("[data-answer]").all()
    }


def test_the_calculator_on_a_phone_with_a_keyboard(visit):
    page = visit("book/capacity.html")
    page.set_viewport_size(PHONE)
    for control in page.locator("#capacity :is(input, select, button)").all():
        label = "e => (e.labels && e.labels[0] || e).textContent + (e.ariaLabel || '')"
        assert control.evaluate(label).strip(), control.evaluate("e => e.outerHTML")
        box = control.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]

    page.focus("#services-2")  # the slider of the third server
    page.keyboard.press("ArrowRight")
    assert page.input_value("[name=services]") == "0.5, 0.1, 0.31"
    page.focus("#capacity-add-arrivals")
    page.keyboard.press("Enter")
    assert page.input_value("[name=arrivals]") == "0.59, 0.3"
    page.get_by_label("Remove server 2").click()
    assert page.input_value("[name=services]") == "0.5, 0.31"

    page.fill("[name=services]", "0.5, 1.2")
    assert "“1.2” is no rate" in page.locator("#capacity-error").inner_text()
    assert not page.locator("#capacity-answers").is_visible()
    page.fill("[name=services]", "0.5, 0.2")
    assert page.locator("#capacity-answers").is_visible()

    # The address alone brings back what was set.
    page.wait_for_url("**#arrivals=0.59,0.3&services=0.5,0.2&*")
    again = visit("book/" + page.url.partition("/book/")[2])
    assert again.input_value("[name=services]") == "0.5,0.2"
    assert again.evaluate(ANSWERS) == page.evaluate(ANSWERS)
