"""Every figure that a reader sees on the page of a table is recomputed here from the table itself."""

import re

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from scipy.stats import ks_2samp
from sklearn.metrics import adjusted_rand_score, completeness_score, homogeneity_score, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from tests.browser import needs_browser, wait_until
from tests.report.test_browser import clusters_of, opened, set_clusters

from ravine import IncrementalMDH, NCutH, report
from ravine.evaluation import Stability
from ravine.explain import profile
from ravine.prepare import TableEncoder

pytestmark = needs_browser

PAINTED = """window.painted = [];
const paint = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
  window.painted.push(text);
  paint.call(this, text, ...at);
};"""
"""Keeps the texts that are painted on a canvas, which cannot be read from it."""


class Shop:
    """A table of 600 customers in three groups, its cells as numbers, and the model that is fitted to it."""

    def __init__(self):
        rng = np.random.default_rng(4)
        group = rng.permutation(np.repeat([0, 1, 2], [150, 200, 250]))
        self.cells = {
            "spend": np.round(np.array([80.0, 300.0, 340.0])[group] + 12 * rng.normal(size=600), 2),
            "visits": np.round(np.array([30.0, 12.0, 50.0])[group] + 2 * rng.normal(size=600)),
            "city": np.array(["Graz", "Linz", "Wien"])[(group + (rng.uniform(size=600) < 0.2)) % 3],
            "joined": np.datetime64("2020-01-01") + (400 * group + rng.integers(0, 90, 600)).astype("timedelta64[D]"),
        }
        self.cells["visits"][::40] = np.nan
        spelled = {
            "customer": [f"C-{i:04d}" for i in range(600)],
            "spend": [f"€{value:,.2f}" for value in self.cells["spend"]],
            "visits": ["" if np.isnan(value) else f"{value:.0f}" for value in self.cells["visits"]],
            "city": self.cells["city"],
            "joined": self.cells["joined"].astype(str),
        }
        self.frame = pd.DataFrame(spelled)
        self.labels = np.where(rng.uniform(size=600) < 0.1, "other", np.array(["ant", "bee", "cat"])[group])
        self.pipe = make_pipeline(TableEncoder(), IncrementalMDH(random_state=0)).fit(self.frame)
        self.tree, self.X = self.pipe[-1].tree_, self.pipe[0].transform(self.frame)
        assert self.tree.n_clusters == 3
        self.label = self.pipe.predict(self.frame)
        jaccard = np.array([[1.0, 0.95, 0.9], [1.0, 0.6, 0.9], [1.0, 0.8, 0.1], [1.0, 0.5, 0.2]])
        together = np.array([[1.0, 0.0, 0.0], [0.0, 0.8, 0.4], [0.0, 0.4, 0.7]])
        sizes = np.bincount(self.label)
        self.refits = Stability(
            np.arange(3), sizes, np.array([3, 3, 3, 4]), jaccard, np.ones(4), together, np.ones(600), 378
        )

    def clusters(self, k):
        """Nodes of the clusters at a number of clusters, and the rows in each."""
        nodes, coarser = clusters_of(self.tree, k)
        label = coarser.predict(self.X)
        return [(node, label == cluster) for cluster, node in enumerate(nodes)]


@pytest.fixture(scope="module")
def shop():
    return Shop()


@pytest.fixture(scope="module")
def desktop(browser, shop, tmp_path_factory):
    path = tmp_path_factory.mktemp("figures") / "report.html"
    report.write(shop.pipe, shop.frame, path, labels=shop.labels, stability=shop.refits)
    context = browser.new_context(offline=True, reduced_motion="reduce", viewport={"width": 1280, "height": 900})
    page = context.new_page()
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.add_init_script(PAINTED)
    page.goto(path.as_uri())
    page.wait_for_selector("#panel .chart svg")
    yield page
    context.close()
    assert troubles == []


@pytest.fixture
def page(desktop):
    set_clusters(desktop, 3)
    desktop.locator(".clusters tbody tr").first.click()
    return desktop


def texts(page, selector):
    return page.locator(selector).all_inner_texts()


def titles(page, selector):
    """The texts that are shown when the pointer rests on the parts of a chart."""
    return page.locator(selector).evaluate_all("all => all.map(one => one.textContent)")


def number(text):
    """The first number in a text: "€1,234.5 each" and "12 %" are 1234.5 and 12."""
    return float(re.search(r"-?[\d,]*\.?\d+", text.replace("−", "-"))[0].replace(",", ""))


def percents(text):
    return [float(found) for found in re.findall(r"([\d.]+)\s?%", text)]


def fact(page, name):
    return page.locator("#panel .facts div").filter(has=page.get_by_text(name, exact=True)).locator("dd").inner_text()


def as_days(dates):
    return dates.astype("datetime64[D]").astype(float)


def quartiles(cells):
    """Median, first and third quartile of the cells that are not missing; of dates, in days."""
    numbers = as_days(cells) if cells.dtype.kind == "M" else cells
    return np.quantile(numbers[~np.isnan(numbers)], [0.5, 0.25, 0.75], method="averaged_inverted_cdf")


def assert_cell(text, cells):
    """A cell of a profile: median and quartiles of numbers or dates, or the two most frequent levels, and gaps."""
    if cells.dtype.kind == "U":
        share = pd.Series(cells).value_counts(normalize=True)[:2]
        for level, part in share.items():
            assert re.search(rf"{level} (\d+) %", text)
            assert float(re.search(rf"{level} (\d+) %", text)[1]) == pytest.approx(100 * part, abs=0.51)
        return
    if cells.dtype.kind == "M":
        found = np.array(re.findall(r"\d{4}-\d\d-\d\d", text), dtype="datetime64[D]")
        assert as_days(found) == pytest.approx(quartiles(cells), abs=1)
        return
    found = [float(one.replace(",", "")) for one in re.findall(r"€?([\d,.]*\d)", text.split(";")[0])]
    assert found == pytest.approx(quartiles(cells)[: len(found)], rel=5e-3, abs=0.51)
    gaps = np.isnan(cells).mean()
    assert ("missing" in text) == (gaps >= 0.01)
    if gaps >= 0.01:
        assert percents(text) == pytest.approx([100 * gaps], abs=0.51)


def assert_sentence(text, shop, here):
    """Each part of a sentence says something about one column, for the cluster and for all rows."""
    assert text
    for part in text.replace("\xa0", " ").replace("\n", "; ").split("; "):
        median = re.fullmatch(r"median (\w+) (\S+), against (\S+)(?: for all)?", part)
        half = re.fullmatch(
            r"half of the values of (\w+) between (\S+) and (\S+), against (\S+) and (\S+)(?: for all)?", part
        )
        level = re.fullmatch(r"(\w+) is (\w+) for (\d+) %, against (\d+) %(?: for all)?", part)
        column, *found = (median or half or level).groups()
        cells = shop.cells[column]
        if level:
            expected = [100 * np.mean(cells[rows] == level[2]) for rows in (here, slice(None))]
            assert [float(share) for share in found[1:]] == pytest.approx(expected, abs=0.51)
            continue
        which = slice(0, 1) if median else slice(1, 3)
        expected = [*quartiles(cells[here])[which], *quartiles(cells)[which]]
        is_date = cells.dtype.kind == "M"
        numbers = as_days(np.array(found, dtype="datetime64[D]")) if is_date else [number(text) for text in found]
        assert numbers == pytest.approx(expected, rel=0 if is_date else 5e-3, abs=1 if is_date else 0.51)


def test_first_screen(shop, page):
    assert page.locator("#finding").inner_text() == "3 clusters in 600 rows × 5 columns"
    assert (shop.tree.p_value[shop.tree.cuts] < 0.05).all()
    assert "Held-out rows confirm all 2 splits." in page.locator("#trust").inner_text()
    stable = "In 4 refits on resamples, 3 found 3 clusters. 1 of 3 clusters is stable."
    assert page.locator("#stable").inner_text() == stable
    assert page.locator("#k-value").inner_text() == "3 clusters"
    assert page.locator("#sampled").inner_text() == "This report covers all 600 rows."


def test_table_of_clusters(shop, page):
    again = {0: "4 of 4", 1: "2 of 4\nuncertain", 2: "2 of 4\nuncertain"}
    for k in (3, 2):
        set_clusters(page, k)
        membership = shop.tree.cut_to(k).membership(shop.X)
        for cluster, (node, here) in enumerate(shop.clusters(k)):
            row = page.locator(f'.clusters tr[data-node="{node}"]')
            assert row.locator(".rows").inner_text() == str(here.sum())
            assert row.locator(".share").inner_text() == f"{100 * here.mean():.1f}%"
            assert_sentence(row.locator(".words").inner_text(), shop, here)
            unsure = percents(row.locator('[data-label="unsure rows"]').inner_text())
            assert unsure == pytest.approx([100 * np.mean(membership[here, cluster] < 0.8)], abs=0.51)
            common = pd.Series(shop.labels[here]).value_counts(normalize=True)
            text = row.locator('[data-label="class"]').inner_text()
            assert text.startswith(f"{common.index[0]} (")
            assert percents(text) == pytest.approx([100 * common.iloc[0]], abs=0.51)
            leaf = np.unique(shop.label[here])
            found = row.locator('[data-label="found again"]').inner_text()
            assert found == (again[leaf[0]] if len(leaf) == 1 else "–")
    assert page.locator("#clusters-note").inner_text().endswith("It is known for the 3 clusters of the fit.")


def test_refits_in_the_panel_and_in_their_chart(shop, page):
    expected = ["stable, mean overlap 1.00", "uncertain, mean overlap 0.71, often together with cluster 2"]
    for (node, _), words in zip(shop.clusters(3), expected, strict=False):
        page.locator(f'.clusters tr[data-node="{node}"]').click()
        assert fact(page, "Found again").endswith(words)
    assert "to 4 random samples of 378 rows" in page.locator("#stability-lead").inner_text()
    chart = page.locator("#stability svg[role=img]")
    assert chart.get_attribute("aria-label") == "Number of clusters in 4 refits: 3 in 3, 4 in 1"
    assert {"3", "1"} <= set(chart.locator("text").evaluate_all("all => all.map(one => one.textContent)"))


def test_heat_map_and_its_table(shop, page):
    order = [column for column in texts(page, "#profile .card .name b") if column in shop.cells]
    assert sorted(order) == sorted(shop.cells)
    nodes = {f"Cluster {cluster}": here for cluster, (_, here) in enumerate(shop.clusters(3))}
    page.locator("#heat canvas").focus()
    seen = set()
    for step in range(3 * len(order)):
        readout = page.locator("#heat-readout").inner_text()
        cluster, column, own, everyone, way = re.fullmatch(
            r"(Cluster \d): .+?\. (\w+): (.+); all rows: (.+)\. (.+)\.", readout
        ).groups()
        cells, here = shop.cells[column], nodes[cluster]
        assert_cell(own, cells[here])
        assert_cell(everyone, cells)
        seen.add((cluster, column))
        if cells.dtype.kind != "U":
            numbers = as_days(cells) if cells.dtype.kind == "M" else cells
            inside, outside = (numbers[part][~np.isnan(numbers[part])] for part in (here, ~here))
            parts = [ks_2samp(inside, outside, side, method="asymp").statistic for side in ("less", "greater")]
            apart = 100 * sum(parts)  # the largest difference between the shares in any range
            is_lower = np.median(inside) < np.median(outside)
            if way != "Much like the other rows":
                words = ("Earlier", "Later") if cells.dtype.kind == "M" else ("Lower", "Higher")
                assert way.startswith(words[0] if is_lower else words[1])
                assert apart - 12 <= number(way) <= apart + 1  # less what so many rows differ by chance
        is_end, is_back = (step + 1) % len(order) == 0, (step // len(order)) % 2 == 1
        page.keyboard.press("ArrowDown" if is_end else "ArrowLeft" if is_back else "ArrowRight")
    assert len(seen) == 3 * len(order)
    page.locator("#heat-table summary").click()
    expect(page.locator("#heat-cells tbody tr")).to_have_count(4)
    columns = texts(page, "#heat-cells thead th")
    for line in page.locator("#heat-cells tbody tr").all():
        head = line.locator("th").inner_text()
        here = np.ones(600, dtype=bool) if head == "all rows" else nodes[f"C{head.split(':')[0][1:]}"]
        for column, text in zip(columns, line.locator("td").all_inner_texts(), strict=True):
            assert_cell(text, shop.cells[column][here])
    page.locator("#heat-table summary").click()
    painted = page.evaluate("window.painted")
    assert set(columns) <= set(painted)
    median = np.median(shop.cells["spend"][nodes["Cluster 0"]])
    assert any(text.startswith("€") and number(text) == pytest.approx(median, rel=5e-3) for text in painted)


def assert_card(card, column, shop, here, other):
    """The bars of a column are the shares of the rows of a cluster, and of those that it is compared with."""
    cells = shop.cells[column]
    parts = card.locator(".bar-touch title, .levels li[title]").evaluate_all(
        "all => all.map(one => one.getAttribute('title') ?? one.textContent)"
    )
    if cells.dtype.kind == "U":
        for text in parts:
            level = text.split(":")[0]
            expected = [100 * np.mean(cells[rows] == level) for rows in (here, other)]
            assert percents(text) == pytest.approx(expected, abs=0.51)
        assert {text.split(":")[0] for text in parts} >= set(cells[here])
        return
    found = profile({column: cells}, np.zeros(600, dtype=int)).column(column)
    numbers, edges = (as_days(cells), as_days(found.edges)) if cells.dtype.kind == "M" else (cells, found.edges)
    assert len(parts) == len(edges) - 1
    for rows, place in ((here, 0), (other, 1)):
        known = numbers[rows][~np.isnan(numbers[rows])]
        counts, _ = np.histogram(np.clip(known, edges[0], edges[-1]), edges)
        shown = [percents(text)[place] for text in parts]
        assert shown == pytest.approx(100 * counts / len(known), abs=0.51)


def test_profile_and_comparison_of_two_clusters(shop, page):
    (first, here), (second, other), _ = shop.clusters(3)
    everyone = np.ones(600, dtype=bool)
    lead = page.locator("#profile > p").first.inner_text()
    assert lead.startswith(f"{here.sum()} rows, {100 * here.mean():.1f}% of all rows. ")
    assert_sentence(lead.split("of all rows. ")[1].rstrip(".").replace("Median", "median"), shop, here)
    for compared, rows, name in (("", everyone, "all rows"), (str(second), other, "cluster 1")):
        page.locator("#compare").select_option(compared)
        for card in page.locator("#profile .card").all():
            column = card.locator(".name b").inner_text()
            assert_cell(card.locator(".figures b").inner_text(), shop.cells[column][here])
            text = card.locator(".figures span").inner_text()
            assert text.startswith(f"{name}: ")
            assert_cell(text.removeprefix(f"{name}: "), shop.cells[column][rows])
            assert_card(card, column, shop, here, rows)
    page.locator("#compare").select_option("")
    for line in page.locator("#profile .typical tbody tr").all():
        row = int(line.locator("td").first.inner_text().removeprefix("C-"))
        assert shop.label[row] == 0
    assert first == int(page.locator(".clusters tr.selected").get_attribute("data-node"))


def holds(condition, shop):
    """The rows for which a condition on the page holds: "spend >= 220", "2021-01-01 <= joined < 2022-01-01"."""
    low, column, sign, high = re.fullmatch(r"(?:(\S+) <= )?(\w+) (<|>=) (\S+)", condition).groups()
    cells = shop.cells[column]

    def value(text):
        return np.datetime64(text) if cells.dtype.kind == "M" else number(text)

    above = cells >= value(low if sign == "<" else high) if low or sign == ">=" else True
    return above & (cells < value(high)) if sign == "<" else above


def test_rules(shop, page):
    for cluster, line in enumerate(page.locator(".rules tbody tr").all()):
        rule, words = line.locator("code").inner_text(), line.locator("td").last.inner_text()
        matches = np.all([holds(condition, shop) for condition in rule.split(" and ")], axis=0)
        is_in = shop.label == cluster
        expected = [100 * is_in[matches].mean(), 100 * matches[is_in].mean()]
        assert percents(words.split("On rows")[0]) == pytest.approx(expected, abs=0.51)
        assert len(percents(words.split("On rows")[1])) == 2
    made = {}
    exec(page.locator("#rules details pre").nth(1).text_content(), made)
    (assign,) = (made[name] for name in made if callable(made[name]) and not name.startswith("_"))
    cells = {name: values.tolist() for name, values in shop.cells.items()}
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    rows = [{name: None if value != value else value for name, value in row.items()} for row in rows]
    agreement = 100 * np.mean([assign(row) == label for row, label in zip(rows, shop.label, strict=True)])
    note = page.locator("#rules > .note").inner_text()
    assert percents(note.split("Applied in turn")[1])[0] == pytest.approx(agreement, abs=0.51)


def test_way_of_a_row_through_the_tree(shop, page):
    for row in (3, 100, 599):
        page.locator("#row-search").fill(f"c-{row:04d}")
        page.keyboard.press("Enter")
        assert f"C-{row:04d} (row {row}) is in cluster {shop.label[row]}: " in page.locator("#found").inner_text()
        inside = np.ones(600, dtype=bool)
        for text in texts(page, "#found .way li"):
            above, which, below, said = re.fullmatch(
                r"Of (\d+) rows, split mainly by .+?, it goes with clusters? ([\d–]+): (\d+) rows, (.+)\.", text
            ).groups()
            ends = [int(part) for part in which.split("–")]
            assert int(above) == inside.sum()
            inside = (shop.label >= ends[0]) & (shop.label <= ends[-1])
            assert int(below) == inside.sum()
            assert inside[row]
            assert_sentence(said, shop, inside)
        assert (inside == (shop.label == shop.label[row])).all()


def test_columns(shop, page):
    lines = shop.pipe[0].summary()
    n_used = sum(line["treatment"] != "ignored" for line in lines)
    assert page.locator("#columns-lead").inner_text().startswith(f"{n_used} of 5 columns of the table were used")
    expected = [[line[key] for key in ("name", "role", "treatment", "reason")] for line in lines]
    assert [line.locator("th, td").all_inner_texts() for line in page.locator("#columns tbody tr").all()] == expected


def test_panel_of_a_cut_and_of_a_cluster(shop, page):
    tree = shop.tree
    page.locator('.node[data-node="0"] .touch').click()
    n_left = int(tree.right[0] - tree.left[0] + 1) // 2  # a subtree of n nodes has (n + 1) / 2 leaves
    on_left = shop.label < n_left
    assert fact(page, "Rows") == "600"
    p_value, of_what = fact(page, "p-value").split(maxsplit=1)
    assert float(p_value) == pytest.approx(tree.p_value[0], rel=0.06)
    assert of_what == "of the valley at the cut"
    evidence = page.locator("#panel .evidence").inner_text()
    assert float(re.search(r"p = ([\de.-]+)", evidence)[1]) == pytest.approx(tree.p_value[0], rel=0.06)
    sides = texts(page, "#panel figure .sides span")
    assert [number(side.split("·")[1]) for side in sides] == [on_left.sum(), (~on_left).sum()]
    bars = page.locator("#panel figure:not(.feature)").first.locator("rect title")
    assert sum(number(text) for text in bars.evaluate_all("all => all.map(one => one.textContent)")) == 600
    shares = [percents(text)[0] for text in texts(page, "#panel .feature .name span")]
    parts = np.maximum(tree.normal[0] * (tree.mean[tree.right[0]] - tree.mean[tree.left[0]]), 0)
    assert shares == pytest.approx(100 * np.sort(parts / parts.sum())[::-1][: len(shares)], abs=0.51)
    for feature in page.locator("#panel .feature").all():
        counted = titles(feature, "rect title")
        assert sum(number(text) for text in counted) <= 600
    distance = shop.X @ tree.normal[0] - tree.offset[0]
    found = [line.locator("td").all_inner_texts() for line in page.locator(".nearest tbody tr").all()]
    heads = texts(page, ".nearest thead th")
    assert [int(line[0].removeprefix("C-")) for line in found] == np.argsort(np.abs(distance), kind="stable")[
        :8
    ].tolist()
    for line in found:
        row = int(line[0].removeprefix("C-"))
        assert number(line[1]) == pytest.approx(distance[row], rel=2e-3)
        assert line[2].startswith("◀" if on_left[row] else "▶")
        assert line[-1] == shop.labels[row]
        for column, text in zip(heads[3:-1], line[3:-1], strict=True):
            cell = shop.cells[column][row]
            expected = str(cell) if isinstance(cell, str | np.datetime64) else None
            assert text == expected if expected else text == "missing" or number(text) == pytest.approx(cell)
    node, here = shop.clusters(3)[1]
    page.locator(f'.node[data-node="{node}"] .touch').click()
    assert fact(page, "Rows") == f"{here.sum()} {100 * here.mean():.1f}% of all rows"
    Z = (shop.X - shop.X.mean(axis=0)) / shop.X.std(axis=0)
    spread = np.sqrt(Z[here].var(axis=0).mean())
    assert number(fact(page, "Spread")) == pytest.approx(spread, rel=0.06)
    assert_sentence(page.locator("#panel > p").first.inner_text().split(": ", 1)[1].rstrip("."), shop, here)


def test_texts_follow_the_slider_where_clusters_are_renumbered(page):
    hint, rules = page.locator("#heat-readout").inner_text(), page.locator("#rules-lead").inner_text()
    page.locator("#heat canvas").focus()
    assert page.locator("#heat-readout").inner_text() != hint
    page.locator("#heat canvas").blur()
    set_clusters(page, 2)
    assert page.locator("#heat-readout").inner_text() == hint  # not a cell of a cluster that is gone
    assert (
        page.locator("#rules-lead").inner_text()
        == f"{rules} The clusters that the page shows now are others, with other numbers."
    )
    with page.expect_download() as download:
        page.locator("#download-csv").click()
    assert download.value.suggested_filename == "clusters-2.csv"
    set_clusters(page, 3)
    assert page.locator("#rules-lead").inner_text() == rules


def test_tests_at_the_cuts(shop, page):
    found = titles(page, "#choice title")
    for rank, node in enumerate(shop.tree.cuts[np.argsort(shop.tree.rank[shop.tree.cuts])], 1):
        (text,) = (text for text in found if text.startswith(f"cut {rank}, node {node}: "))
        assert float(re.search(r"p = (\S+?),? ", text + " ")[1]) == pytest.approx(shop.tree.p_value[node], rel=0.06)
        assert text.endswith(", confirmed")
    tested = [node for node in shop.tree.leaves if shop.tree.p_value[node] < 1]
    assert sum(text.startswith("cluster ") for text in found) == len(tested)
    sentence = page.locator("#chosen").inner_text()
    assert sentence.startswith("The number of clusters was chosen automatically. All 2 cuts were confirmed")
    assert page.locator("#method").inner_text().startswith("Method: IncrementalMDH with its default parameters.")


def test_scores_and_counts_of_the_classes(shop, page):
    for k in (3, 2):
        set_clusters(page, k)
        label = shop.tree.cut_to(k).predict(shop.X)
        scores = (normalized_mutual_info_score, adjusted_rand_score, None, homogeneity_score, completeness_score)
        counts = pd.crosstab(label, shop.labels)
        purity = counts.max(axis=1).sum() / 600
        expected = [purity if score is None else score(shop.labels, label) for score in scores]
        assert [float(text) for text in texts(page, "#scores dd")] == pytest.approx(expected, abs=1e-3)
        assert texts(page, "#contingency thead th") == [*counts.columns, "total"]
        lines = [line.locator("td").all_inner_texts() for line in page.locator("#contingency tbody tr").all()]
        assert [[int(text) for text in line[:-1]] for line in lines] == counts.to_numpy().tolist()
        assert [int(line[-1]) for line in lines] == counts.sum(axis=1).tolist()


OVERFLOW = """() => {
  const boxes = [...document.querySelectorAll("main section, .clusters, .clusters table, #panel, #profile")];
  const { right } = document.querySelector("main section").getBoundingClientRect();
  const beyond = boxes.map((box) => box.getBoundingClientRect().right - right);
  return [document.scrollingElement.scrollWidth - innerWidth, ...beyond];
}"""


def assert_fits(page):
    """Nothing is wider than the page, at any width of the window."""
    for width in (1440, 1200, 1000, 800, 390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until(page, f"Math.max(...({OVERFLOW})()) <= 0.5")  # charts are drawn anew a frame or two later


def test_page_with_classes_fits_windows_of_any_width_and_has_no_fault_of_accessibility(page):
    assert_fits(page)
    assert [fault["id"] for fault in Axe().run(page).response["violations"] if fault["impact"] != "minor"] == []


# A number of clusters that was given, a sample of the rows, and outliers


def test_given_number_sample_and_outliers(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1, (200, 2)) for c in ([0, 0], [12, 0], [0, 12])] + [[[70.0, 70.0]]])
    model = NCutH(3, outliers="label").fit(X)
    label = model.predict(X)
    assert label[-1] == -1
    n_outliers = int((label < 0).sum())
    gatherer = report.ReportAccumulator(model)
    gatherer.add(X)
    page, troubles = opened(browser, report.write(model, gatherer.rows(), tmp_path / "all.html"))
    noun = "outlier" if n_outliers == 1 else "outliers"
    assert page.locator("#finding").inner_text() == f"3 clusters and {n_outliers} {noun} in 601 rows × 2 columns"
    assert "3 clusters were asked for, so it was not tested whether" in page.locator("#trust").inner_text()
    assert page.locator("#stable").inner_text() == ""
    assert "pass stability=ravine.evaluation.stability(model, X)" in page.locator("#stability-lead").inner_text()
    page.locator("#row-search").fill("600")
    page.keyboard.press("Enter")
    assert page.locator("#found").inner_text() == "Row 600 is an outlier and belongs to no cluster."
    tree = model.tree_
    left = [tree.cut_to(k).sum_sq[tree.cut_to(k).leaves].sum() / tree.sum_sq[0] for k in (1, 2, 3)]
    found = [text for text in titles(page, "#choice title") if "%" in text]
    assert [percents(text)[0] for text in found] == pytest.approx([100 * part for part in left], abs=0.51)
    assert_fits(page)
    page.context.close()
    some = report.ReportAccumulator(model, 300)
    some.add(X)
    page, more = opened(browser, report.write(model, some.rows(), tmp_path / "some.html"))
    assert "cover all 601 rows" in page.locator("#sampled").inner_text()
    assert "a random sample of 300 rows." in page.locator("#sampled").inner_text()
    assert "300 rows of 601 are listed, drawn at random." in page.locator("#rows-lead").inner_text()
    assert [int(text) for text in texts(page, ".clusters td.rows")] == np.bincount(label[label >= 0]).tolist()
    page.context.close()
    assert troubles == more == []
