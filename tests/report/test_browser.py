import re

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.browser import needs_browser, wait_until

from ravine import HSDC, PDDP, MDHClassifier, NCutH, StreamClusterer, SupportVectorClustering, report
from ravine.datasets import make_blobs
from ravine.report import Compared, write_comparison
from ravine.tree._coarser import nodes_in

HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "long " * 30, "<b>bold</b>"]

pytestmark = needs_browser


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    centers = [[0, 0, 0, 0], [9, 0, 0, 0], [0, 9, 0, 0], [9, 9, 0, 0], [0, 0, 20, 0]]
    X, y = make_blobs(600, centers=centers, random_state=0)
    model = PDDP().fit(X)
    assert model.n_clusters_ == 5
    labels = np.array(["ant", "bee", "cat", HOSTILE[0], "eel"])[y]
    folder = tmp_path_factory.mktemp("report")
    return report.write(model, X, folder / "report.html", labels=labels, feature_names=HOSTILE, title=HOSTILE[1])


def opened(browser, path, **options):
    """A page without a network, and all that went wrong in it."""
    context = browser.new_context(offline=True, reduced_motion="reduce", **options)
    page = context.new_page()
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("request", lambda request: troubles.append(request.url) if not request.url.startswith("file:") else None)
    page.on("dialog", lambda dialog: (troubles.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.goto(path.as_uri())
    page.wait_for_selector("#panel .chart svg, #all-clusters")
    return page, troubles


@pytest.fixture(scope="module")
def desktop(browser, path):
    page, troubles = opened(browser, path, viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield page, troubles
    page.context.close()


@pytest.fixture
def page(desktop):
    page, _ = desktop
    set_clusters(page, 5)
    page.locator('.node[data-node="0"]').click()
    return page


def set_clusters(page, k):
    page.locator("#k").evaluate("(slider, k) => { slider.value = k; slider.dispatchEvent(new Event('input')); }", k)
    expect(page.locator(".clusters tbody tr")).to_have_count(k)


def test_nothing_goes_wrong_and_nothing_is_fetched(desktop):
    page, troubles = desktop
    assert page.locator("#finding").inner_text() == "5 clusters in 600 rows × 4 columns"
    for node in range(9):
        page.locator(f'.node[data-node="{node}"]').click()
    for k in (1, 3, 5):
        set_clusters(page, k)
    page.wait_for_timeout(100)
    assert troubles == []


def test_hostile_names_are_text(page):
    assert page.locator("h1").inner_text() == HOSTILE[1]
    assert page.locator("img, b b").count() == 0
    body = page.locator("body").inner_text()
    assert HOSTILE[0] in body
    assert page.locator(f'[title="{HOSTILE[2]}"]').count() > 0
    assert HOSTILE[2] not in body


def test_a_click_on_a_node_shows_it_in_the_panel(page):
    before = page.locator("#panel").inner_text()
    assert before.startswith("Node 0")
    leaf = page.locator(".node.leaf").first
    leaf.click()
    panel = page.locator("#panel").inner_text()
    assert panel.startswith("Cluster 0")
    assert "against" in panel
    assert page.locator("#profile-title").inner_text().startswith("Cluster 0: ")
    assert leaf.get_attribute("aria-pressed") == "true"
    assert page.locator(".clusters tr.selected").count() == 1


def test_nodes_are_reached_and_chosen_by_the_keyboard(page):
    page.locator('.node[data-node="0"]').focus()
    page.keyboard.press("ArrowDown")
    child = page.evaluate("document.activeElement.dataset.node")
    assert child == "1"
    page.keyboard.press("ArrowRight")
    sibling = page.evaluate("document.activeElement.dataset.node")
    assert sibling not in ("0", "1")
    page.keyboard.press("Enter")
    assert page.locator(f'.node[data-node="{sibling}"]').get_attribute("aria-pressed") == "true"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.dataset.node") == "0"
    page.keyboard.press("Space")
    assert page.locator("#panel-title").inner_text() == "Node 0"
    assert page.locator('.node[tabindex="0"]').count() == 1


def test_slider_rules_map_table_and_contingency(page):
    for k in (1, 3, 5):
        set_clusters(page, k)
        assert page.locator(".node").count() == 2 * k - 1
        assert page.locator(".node.leaf").count() == k
        assert page.locator(".clusters tbody tr").count() == k
        assert page.locator(".contingency tbody tr").count() == k
        assert page.locator("#k").get_attribute("aria-valuetext") == f"{k} of 5 clusters"
    page.locator("#k").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#k-value")).to_have_text("4 of 5")


def test_a_node_that_the_slider_hides_gives_way_to_the_one_above(page):
    set_clusters(page, 5)
    page.locator(".node.leaf").first.click()
    set_clusters(page, 1)
    assert page.locator("#panel-title").inner_text() == "Cluster 0"
    notice = page.locator("#panel .notice").inner_text()
    assert notice == "At 1 cluster, this node is one cluster. From 2 clusters on, it is split as shown here."


def test_rows_of_the_table_add_up_and_sort(page):
    rows = [int(text) for text in page.locator(".clusters td.rows").all_inner_texts()]
    assert sum(rows) == 600
    page.locator('.clusters [data-key="rows"]').click()
    sorted_rows = [int(text) for text in page.locator(".clusters td.rows").all_inner_texts()]
    assert sorted_rows == sorted(rows, reverse=True)
    assert page.locator('.clusters th[aria-sort="descending"]').inner_text() == "rows"
    page.locator('.clusters [data-key="number"]').click()


def test_points_take_the_marks_of_sides_or_of_classes(page):
    assert "clusters" in page.locator("#panel .swatches").inner_text()
    page.get_by_role("button", name="by class").click()
    assert {"ant", "bee", "cat", "eel", HOSTILE[0]} == set(page.locator("#panel .swatches li").all_inner_texts())
    shapes = page.locator("#panel .swatches path").evaluate_all(
        "paths => new Set(paths.map(p => p.getAttribute('d'))).size"
    )
    assert shapes == 5
    page.get_by_role("button", name="by side").click()


def test_theme_is_toggled(page):
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.locator("#theme").click()
    assert page.evaluate(background) != light
    assert page.locator("#theme").inner_text() == "Light theme"
    page.locator("#theme").click()
    assert page.evaluate(background) == light


def test_print_shows_every_part(page):
    page.emulate_media(media="print")
    for part in ("#map", "#panel", "#clusters", "#choice", "#contingency", "#scores", "#reproduce"):
        assert page.locator(part).is_visible(), part
    assert page.locator("#map").evaluate("box => getComputedStyle(box).overflowX") == "visible"
    assert not page.locator("#theme").is_visible()
    page.emulate_media(media="screen")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_page_fits_and_has_no_serious_fault_of_accessibility(browser, path, scheme, width):
    page, troubles = opened(browser, path, viewport={"width": width, "height": 760}, color_scheme=scheme)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    faults = [
        (fault["id"], [node["html"][:200] for node in fault["nodes"][:3]])
        for fault in Axe().run(page).response["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
    page.locator(".node.leaf").first.click()
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    page.context.close()
    assert faults == []
    assert troubles == []


def test_comparison_shows_hostile_names_as_text_and_has_no_fault_of_accessibility(browser, tmp_path):
    X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    found = [
        Compared(name, labels, tree, 0.1, {"silhouette": 0.5, "ari": None})
        for name, labels, tree in ((HOSTILE[0], PDDP().fit(X).labels_, PDDP().fit(X).tree_), ("noisy", y - 1, None))
    ]
    path = write_comparison(found, tmp_path / "compare.html", title=HOSTILE[1], feature_names=HOSTILE[:2])
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("h1").inner_text() == HOSTILE[1]
    assert page.locator("img, script").count() == 0
    assert page.locator("tbody").first.inner_text().count("33% noise") == 1
    assert [fault["id"] for fault in Axe().run(page).response["violations"]] == []
    context.close()


@pytest.mark.parametrize("n_rows", [0, 1, 400])
def test_one_cluster_is_drawn(browser, tmp_path, n_rows):
    X = np.random.default_rng(0).normal(size=(400, 1))
    model = PDDP().fit(X)
    context = browser.new_context(offline=True)
    page = context.new_page()
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(report.write(model, X[:n_rows], tmp_path / "report.html").as_uri())
    assert page.locator("#panel-title").inner_text() == "Cluster 0"
    assert page.locator("#classes-section").count() == 0
    assert page.locator("#k").is_disabled()
    context.close()
    assert troubles == []


def without_tree(kind):
    X, y = make_blobs(300, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 0]], random_state=0)
    names = np.array(["ant", HOSTILE[0], "two\nlines"], dtype=object)[y]
    if kind == "classes":
        return MDHClassifier().fit(X, np.where(np.arange(300) < 60, names, None)), X, names
    options = {"n_clusters": 1} if kind == "one cluster" else {"outliers": "label"}
    return SupportVectorClustering(**options).fit(X), X, names


@pytest.mark.parametrize("kind", ["clusters", "classes", "one cluster"])
def test_model_without_a_tree_has_a_page_of_its_groups(browser, tmp_path, kind):
    model, X, labels = without_tree(kind)
    written = report.write(model, X, tmp_path / "report.html", labels=labels, feature_names=["a", HOSTILE[0], "b\n"])
    page, troubles = opened(browser, written, viewport={"width": 1280, "height": 900})
    groups = page.locator(".clusters tbody tr")
    expected = {"clusters": 4, "classes": 3, "one cluster": 1}[kind]
    assert groups.count() == page.locator(".contingency tbody tr").count() == expected
    for i in range(expected):
        name = groups.nth(i).locator(".choose-cluster").inner_text()
        groups.nth(i).click()
        title = page.locator("#panel-title").inner_text().lower()
        assert title in (name.lower(), f"cluster {name.split()[0]}")
        assert page.locator("tr.selected").count() == 2
    assert page.locator("#map, #k, img").count() == 0
    body = page.locator("body").inner_text()
    assert f"{expected - (kind == 'clusters')} {'classes' if kind == 'classes' else 'cluster'}" in body
    assert r"two\nlines" in body
    faults = [fault["id"] for fault in Axe().run(page).response["violations"] if fault["impact"] != "minor"]
    page.set_viewport_size({"width": 360, "height": 760})
    # Charts are drawn anew when the browser reports their new width, a frame later.
    wait_until(page, "document.scrollingElement.scrollWidth <= innerWidth")
    page.context.close()
    assert faults == []
    assert troubles == []


# A model whose tree has a mixture


@pytest.fixture(scope="module")
def soft():
    rng = np.random.default_rng(0)
    centers = [[0, 0], [5, 0], [0, 12], [4, 12]]
    X = np.concatenate([rng.normal(center, 1 + i % 2, (150, 2)) for i, center in enumerate(centers)])
    model = NCutH(4).fit(X)
    assert model.tree_.has_soft_labels
    return model, X


@pytest.fixture(scope="module")
def soft_path(soft, tmp_path_factory):
    model, X = soft
    labels = np.where(np.arange(600) < 300, HOSTILE[0], "bee")
    return report.write(model, X, tmp_path_factory.mktemp("soft") / "report.html", labels=labels)


@pytest.fixture(scope="module")
def soft_page(browser, soft_path):
    page, troubles = opened(browser, soft_path, viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield page
    page.context.close()
    assert troubles == []


def clusters_of(tree, k):
    """The clusters at some number of clusters: their nodes in the whole tree, and the tree that has only them."""
    coarser = tree.cut_to(k)
    return nodes_in(tree, coarser)[coarser.leaves].tolist(), coarser


def test_scatter_of_all_rows_has_an_ellipse_for_every_cluster_of_every_number(soft, soft_page):
    for k in (4, 3, 2, 1):
        set_clusters(soft_page, k)
        soft_page.locator('.node[data-node="0"]').click()
        chart = soft_page.get_by_role("img", name="Scatter plot of the rows")
        expected = f"with {k} ellipse{'s' if k > 1 else ''}"
        assert chart.get_attribute("aria-label") == f"Scatter plot of the rows of the node, {expected}"
        assert chart.locator('path[fill-opacity="0.07"], g[fill-opacity="0.07"] path').count() == k
        assert "It holds 90% of a Gaussian cluster" in soft_page.locator("#panel").inner_text()


def test_rows_near_a_boundary_are_those_of_the_model_with_so_many_clusters(soft, soft_page):
    model, X = soft
    for k in (4, 3):
        set_clusters(soft_page, k)
        nodes, coarser = clusters_of(model.tree_, k)
        label, membership = coarser.predict(X), coarser.membership(X)
        for cluster, node in enumerate(nodes):
            soft_page.locator(f'.node[data-node="{node}"] .touch').click()
            head = soft_page.locator(".boundary th").all_inner_texts()
            assert head[:4] == ["row", f"membership in cluster {cluster}", "next cluster", "membership in it"]
            assert sorted(head[4:6]) == ["x0", "x1"]
            for line in soft_page.locator(".boundary tbody tr").all():
                row, own, following, second, *values, name = line.locator("td").all_inner_texts()
                shown = dict(zip(head[4:6], values, strict=True))
                assert [float(shown[f"x{j}"]) for j in range(2)] == pytest.approx(X[int(row)], rel=1e-5, abs=1e-9)
                shares = membership[int(row)].copy()
                assert label[int(row)] == cluster
                assert float(own.rstrip("%")) == pytest.approx(100 * shares[cluster], abs=0.6)
                shares[cluster] = 0
                assert following == f"cluster {shares.argmax()}"
                assert float(second.rstrip("%")) == pytest.approx(100 * shares.max(), abs=0.6)
                assert name == (HOSTILE[0] if int(row) < 300 else "bee")
            unsure = np.mean(membership[label == cluster, cluster] < 0.8)
            fact = soft_page.locator(".facts div").filter(has_text="Unsure rows").locator("dd").inner_text()
            assert float(fact.split("%")[0]) == pytest.approx(100 * unsure, abs=0.6)


def test_valley_of_a_cut_is_that_of_the_tree(soft, soft_page):
    tree = soft[0].tree_
    set_clusters(soft_page, 4)
    shallow = [node for node in tree.cuts if 0 < tree.relative_depth[node] < 50]
    assert len(shallow) == 2
    for node in shallow:
        soft_page.locator(f'.node[data-node="{node}"] .touch').click()
        text = soft_page.locator(".facts div").filter(has_text="Valley depth").locator("dd").inner_text()
        shown, ratio = re.fullmatch(r"([\d.]+)% below .+ \(relative depth ([\d.]+)\)", text).groups()
        depth = tree.relative_depth[node]  # peak over valley, less 1
        assert float(ratio) == pytest.approx(depth, rel=6e-3)
        assert float(shown) == pytest.approx(100 * (1 - 1 / (1 + depth)), abs=0.51)


def test_clusters_are_sorted_by_their_unsure_rows(soft_page):
    set_clusters(soft_page, 4)
    soft_page.locator('.clusters [data-key="unsure"]').click()
    shares = soft_page.locator('.clusters td[data-label="unsure rows"]').all_inner_texts()
    found = [float(text.rstrip("%")) for text in shares]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0
    soft_page.locator('.clusters [data-key="number"]').click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_page_with_a_mixture_fits_and_has_no_serious_fault_of_accessibility(browser, soft_path, scheme, width):
    page, troubles = opened(browser, soft_path, viewport={"width": width, "height": 760}, color_scheme=scheme)
    page.locator(".node.leaf .touch").first.click()
    assert page.locator(".boundary").count() == 1
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    faults = [fault["id"] for fault in Axe().run(page).response["violations"] if fault["impact"] != "minor"]
    page.context.close()
    assert faults == []
    assert troubles == []


def test_page_without_a_mixture_speaks_of_none(page):
    body = page.locator("body").inner_text()
    assert page.locator(".boundary").count() == 0
    assert all(word not in body for word in ("mixture", "nsure rows", "ellipse"))


def test_stream_has_the_page_of_its_tree(browser, tmp_path):
    X, _ = make_blobs(600, centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    model = HSDC().fit(X)
    page, troubles = opened(browser, report.write(model, X, tmp_path / "report.html"))
    assert page.locator(".node.leaf").count() == model.n_clusters_ == 3
    assert "row by row" in page.locator("#chosen").inner_text()
    page.context.close()
    assert troubles == []


# The page of a stream


@pytest.fixture(scope="module")
def stream_path(tmp_path_factory):
    """Three clusters, of which one pauses, and one that begins late."""
    centers = [[0, 0, 0, 0], [9, 0, 0, 0], [0, 9, 0, 0], [0, 0, 20, 0]]
    X, y = make_blobs(9000, centers=centers, random_state=0)
    row = np.arange(9000)
    model = StreamClusterer().fit(X[~((y == 1) & (row > 3000) & (row < 5000)) & ~((y == 3) & (row < 7000))])
    assert model.n_clusters_ == 4
    folder = tmp_path_factory.mktemp("stream")
    return report.write_stream(model, folder / "stream.html", feature_names=HOSTILE, title=HOSTILE[1])


@pytest.fixture(scope="module")
def stream_page(browser, stream_path):
    page, troubles = opened(browser, stream_path, viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield page
    page.context.close()
    assert troubles == []


def test_stream_has_a_band_for_every_cluster_and_a_mark_for_every_event(stream_page):
    assert stream_page.locator("h1").inner_text() == HOSTILE[1]
    assert stream_page.locator("img, b b").count() == 0
    ids = stream_page.locator("path.band").evaluate_all("bands => bands.map(band => band.dataset.cluster)")
    assert len(set(ids)) == len(ids) >= 4
    n_events = stream_page.locator("table.events tbody tr").count()
    assert stream_page.locator("path.event").count() == n_events > 2
    assert "1 appeared" in stream_page.locator(".swatches").first.inner_text()
    assert stream_page.locator(".band-label").count() >= 4


def test_colors_of_bands_and_clusters_agree(stream_page):
    for cluster in stream_page.locator("tr[data-cluster]").evaluate_all("rows => rows.map(row => row.dataset.cluster)"):
        band = stream_page.locator(f'path.band[data-cluster="{cluster}"]')
        swatch = stream_page.locator(f'tr[data-cluster="{cluster}"] .band-swatch')
        color = "element => getComputedStyle(element)"
        assert band.evaluate(f"{color}.fill") == swatch.evaluate(f"({color}.backgroundColor)")


def test_selected_cluster_is_described(stream_page):
    rows = stream_page.locator("tr[data-cluster]")
    assert rows.count() == 4
    for i in range(4):
        rows.nth(i).click()
        cluster = rows.nth(i).get_attribute("data-cluster")
        assert stream_page.locator("#panel-title").inner_text() == f"Cluster {cluster}"
        assert stream_page.locator("#panel .columns tbody tr").count() == 4
        assert stream_page.locator("tr.selected").count() == 1
    assert HOSTILE[0] in stream_page.locator("#panel").inner_text()
    stream_page.locator('.clusters [data-key="id"]').click()
    ids = stream_page.locator("tr[data-cluster]").evaluate_all("rows => rows.map(row => Number(row.dataset.cluster))")
    assert ids == sorted(ids)


def test_events_of_one_kind_are_chosen(stream_page):
    stream_page.locator("#kind").select_option("appeared")
    assert stream_page.locator("table.events td.kind").all_inner_texts() == ["appeared"]
    stream_page.locator("#kind").select_option("")
    assert stream_page.locator("table.events tbody tr").count() == stream_page.locator("path.event").count()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_page_of_a_stream_fits_and_has_no_serious_fault_of_accessibility(browser, stream_path, scheme, width):
    page, troubles = opened(browser, stream_path, viewport={"width": width, "height": 760}, color_scheme=scheme)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    faults = [
        (fault["id"], [node["html"][:200] for node in fault["nodes"][:3]])
        for fault in Axe().run(page).response["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
    page.context.close()
    assert faults == []
    assert troubles == []


@pytest.mark.parametrize("n_rows", [1, 30, 700])
def test_stream_of_one_cluster_without_events_is_drawn(browser, tmp_path, n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 1))
    path = report.write_stream(StreamClusterer().fit(X), tmp_path / "stream.html")
    context = browser.new_context(offline=True)
    page = context.new_page()
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("path.band")
    assert page.locator("#panel-title").inner_text() == "Cluster 0"
    assert page.locator("#events-lead").inner_text() == "Nothing was reported so far."
    assert page.locator("path.event, table.events").count() == 0
    context.close()
    assert troubles == []


def test_many_events_are_shown_on_demand(browser, tmp_path):
    model = StreamClusterer().fit(make_blobs(3000, centers=[[0, 0], [20, 0]], random_state=0)[0])
    n_before = len(model.events_)
    for row in range(200 - n_before):
        model._stream.log.report(("moved", "vanished")[row % 2], row, row, [0], **({} if row % 2 else {"shift": 1.5}))
    page, troubles = opened(browser, report.write_stream(model, tmp_path / "stream.html"))
    assert page.locator("table.events tbody tr").count() == 50
    page.get_by_role("button", name="Show all 200").click()
    assert page.locator("table.events tbody tr").count() == page.locator("path.event").count() == 200
    page.locator("#kind").select_option("moved")
    assert page.locator("table.events tbody tr").count() == 50
    assert page.locator("table.events .what").first.inner_text() == "cluster 0 moved (by 1.5 standard deviations)"
    page.context.close()
    assert troubles == []
