"""Identifiers of clusters and what is reported of them, on trees made by hand."""

import numpy as np
import pytest
from tests.tree.stream.leaves import add_rows, chain

from ravine import _kernels
from ravine.tree._stream._events import EventLog
from ravine.tree._stream._history import History
from ravine.tree._stream._matching import Matching
from ravine.tree._stream._registry import (
    ANNOUNCED_AFTER,
    FEW_ROWS,
    MOST_FORMER,
    RETURNED_ROWS,
    Birth,
    Change,
    Former,
    Registry,
)

REST_UNTIL = _kernels.stream.REST_UNTIL


def registry_of(centers, times, now, **more):
    """A registry, its leaves from left to right; their identifiers are 0, 1, …"""
    nodes, leaves = chain(centers, times, **more)
    registry = Registry(nodes, EventLog(), History())
    registry.n_ids, registry.now = len(leaves), now
    return registry, leaves


def reported(registry):
    return [(event["kind"], event["clusters"]) for event in registry.log.events]


def ids_of(registry):
    return sorted(int(registry.nodes.identity[leaf]) for leaf in registry.nodes.leaves())


def unnamed(registry, leaves):
    for leaf in leaves:
        registry.nodes.identity[leaf] = -1


# New clusters


def test_new_cluster_is_reported_after_a_while_with_the_row_at_which_it_began():
    registry, leaves = registry_of([0.0, 9.0], [range(400), range(400, 440)], 440)
    unnamed(registry, leaves[1:])
    registry.name([leaves[1]], Matching(new=[0]), {}, 395.0)
    assert ids_of(registry) == [0, 2]
    assert reported(registry) == []
    assert registry.next_look == 440 + ANNOUNCED_AFTER
    registry.now += ANNOUNCED_AFTER - 1
    registry.announce()
    assert reported(registry) == []
    registry.now += 1
    add_rows(registry.nodes, leaves[0], np.zeros((4, 1)), range(registry.now - 4, registry.now))
    registry.announce()
    assert reported(registry) == [("appeared", [2])]
    (event,) = registry.log.events
    assert 400 <= event["since"] < 404  # a few rows may be older than the cluster
    assert event["row"] == registry.now - 1
    assert registry.next_look == np.inf


def test_new_cluster_with_the_rate_of_one_that_ceased_when_it_began_is_that_one_moved():
    registry, (gone, _, new) = registry_of([0.0, 9.0, 30.0], [range(0, 400, 2), range(600), range(400, 600, 2)], 600)
    registry.births[2] = Birth(400, 600)
    registry.resting[0] = 500
    registry.nodes.leaf[gone, REST_UNTIL] = 9999
    registry.announce()
    assert reported(registry) == [("moved", [0])]
    (event,) = registry.log.events
    assert event["since"] == 400
    assert event["shift"] == pytest.approx(30, rel=0.3)
    assert ids_of(registry) == [0, 1]
    assert registry.nodes.identity[new] == 0
    assert not registry.births
    assert not registry.resting


def test_cluster_that_falls_silent_when_a_new_one_began_has_moved_there():
    registry, (gone, _, new) = registry_of([0.0, 9.0, 30.0], [range(0, 400, 2), range(600), range(400, 600, 2)], 600)
    registry.births[2] = Birth(400, 650)
    registry.rest(gone)
    assert registry.next_look == registry.now
    registry.announce()
    assert reported(registry) == [("moved", [0])]
    assert registry.nodes.identity[new] == 0
    assert ids_of(registry) == [0, 1]


def test_former_cluster_may_be_the_new_one_too():
    registry, (gone, _, new) = registry_of([0.0, 9.0, 30.0], [range(0, 400, 2), range(600), range(400, 600, 2)], 600)
    registry.births[2] = Birth(400, 600)
    registry._remove(gone)
    registry.announce()
    assert reported(registry) == [("moved", [0])]
    assert registry.nodes.identity[new] == 0
    assert not registry.former


@pytest.mark.parametrize("rows", [range(400, 600, 20), range(550, 600)], ids=["other rate", "other time"])
def test_new_cluster_of_another_rate_or_time_is_no_move(rows):
    registry, (gone, _, _) = registry_of([0.0, 9.0, 30.0], [range(200), range(600), rows], 600)
    registry.births[2] = Birth(rows[0], 600)
    registry.resting[0] = 400
    registry.nodes.leaf[gone, REST_UNTIL] = 9999
    registry.announce()
    assert reported(registry) == [("appeared", [2])]
    assert ids_of(registry) == [0, 1, 2]


def test_new_cluster_waits_while_another_is_late_that_it_may_be():
    registry, (late, _, _) = registry_of([0.0, 9.0, 30.0], [range(0, 400, 2), range(600), range(400, 600, 2)], 600)
    registry.births[2] = Birth(400, 600)
    registry.announce()
    assert reported(registry) == []
    assert registry.next_look == 600 + ANNOUNCED_AFTER
    add_rows(registry.nodes, late, np.zeros((4, 1)), range(registry.next_look - 8, registry.next_look, 2))
    registry.now = registry.next_look
    registry.announce()
    assert reported(registry) == [("appeared", [2])]


# Clusters without rows


def test_silent_cluster_is_reported_rests_and_is_removed_later():
    registry, (leaf, _) = registry_of([0.0, 9.0], [range(200), range(400)], 400)
    registry.rest(leaf)
    assert reported(registry) == [("vanished", [0])]
    assert registry.log.events[0]["since"] == 199
    assert registry.nodes.leaf[leaf, REST_UNTIL] > 400
    assert ids_of(registry) == [0, 1]
    registry.now = int(registry.nodes.leaf[leaf, REST_UNTIL])
    registry.rest(leaf)
    assert reported(registry) == [("vanished", [0])]
    assert ids_of(registry) == [1]
    assert [former.identity for former in registry.former] == [0]
    assert not registry.resting


def test_silent_leaf_with_few_rows_or_without_a_profile_is_removed_without_a_report():
    for n in (FEW_ROWS - 1, FEW_ROWS):
        registry, (leaf, _) = registry_of([0.0, 9.0], [range(n), range(400)], 400)
        registry.rest(leaf)
        assert reported(registry) == []
        assert ids_of(registry) == [1]
        assert not registry.former


def test_new_cluster_that_falls_silent_is_never_reported():
    registry, (_, leaf) = registry_of([0.0, 9.0], [range(400), range(200, 240)], 400)
    registry.births[1] = Birth(200, 500)
    registry.rest(leaf)
    assert reported(registry) == []
    assert not registry.births


def test_resting_cluster_returns_with_rows_that_fit(rng):
    registry, (leaf, _) = registry_of([0.0, 9.0], [range(200), range(400)], 400)
    registry.rest(leaf)
    for k in range(RETURNED_ROWS):
        assert len(reported(registry)) == 1
        add_rows(registry.nodes, leaf, np.array([[0.1 * k]]), [500 + k])
        registry.now = 501 + k
        registry.note_return(leaf)
    assert reported(registry)[1:] == [("returned", [0])]
    assert registry.log.events[1]["since"] == 500
    assert registry.nodes.leaf[leaf, REST_UNTIL] == 0
    assert not registry.resting


def test_resting_cluster_does_not_return_with_rows_that_do_not_fit():
    registry, (leaf, _) = registry_of([0.0, 9.0], [range(200), range(400)], 400)
    registry.rest(leaf)
    for k in range(2 * RETURNED_ROWS):
        add_rows(registry.nodes, leaf, np.array([[-40.0]]), [500 + k])
        registry.now = 501 + k
        registry.note_return(leaf)
    assert reported(registry) == [("vanished", [0])]
    assert 0 in registry.resting


def test_silent_cluster_whose_rows_go_to_another_that_changed_then_has_merged_with_it():
    rows = [range(0, 400, 4), range(400, 600, 2), range(1, 600, 2)]
    registry, (leaf, _, _) = registry_of([0.0, 9.0, 30.0], rows, 600)
    registry.changed[1] = Change(400, 0.25)  # its rate was 0.25 before, and is 0.5 now
    registry.rest(leaf)
    assert reported(registry) == [("merged", [1, 0])]
    assert ids_of(registry) == [1, 2]


def test_silent_cluster_has_vanished_where_all_others_have_more_rows_since_then():
    registry, (leaf, _) = registry_of([0.0, 9.0], [range(0, 400, 2), [*range(1, 400, 2), *range(400, 600)]], 600)
    registry.rest(leaf)
    assert reported(registry) == [("vanished", [0])]


def test_silent_cluster_has_vanished_where_no_other_gained_its_rows():
    registry, (leaf, _) = registry_of([0.0, 9.0], [range(0, 400, 2), range(401, 600, 2)], 600)
    registry.changed[1] = Change(400, 0.5)
    registry.rest(leaf)
    assert reported(registry) == [("vanished", [0])]


# Regions that were learned again


def test_cluster_that_continues_keeps_its_identifier_and_has_moved_if_its_mean_has():
    for shift, expected in ((0.0, []), (6.0, [("moved", [0])])):
        before, (leaf, _) = registry_of([0.0, 50.0], [range(100), range(100)], 100)
        former = before.as_it_is(leaf)
        registry, leaves = registry_of([shift, 50.0], [range(100, 200), range(100)], 200, seed=1)
        unnamed(registry, leaves[:1])
        registry.name([leaves[0]], Matching(continues={0: 0}), {0: former}, 100.0)
        assert reported(registry) == expected
        assert ids_of(registry) == [0, 1]
        assert (0 in registry.changed) == bool(expected)


def test_merged_clusters_keep_the_first_identifier():
    registry, leaves = registry_of([0.0, 9.0], [range(100), range(100)], 100)
    former = {k: Former(k, registry.nodes.profile(leaves[0]), 90, 0.5) for k in (5, 7)}
    registry.n_ids = 8
    unnamed(registry, leaves[:1])
    registry.name([leaves[0]], Matching(continues={5: 0, 7: 0}, merged={0: [5, 7]}), former, 50.0)
    assert reported(registry) == [("merged", [5, 7])]
    assert ids_of(registry) == [1, 5]
    assert [one.identity for one in registry.former] == [7]


def test_new_cluster_that_merges_is_not_reported_and_gives_way_to_one_that_was():
    registry, leaves = registry_of([0.0, 9.0], [range(100), range(100)], 100)
    registry.n_ids, registry.births[5] = 8, Birth(80, 200)
    unnamed(registry, leaves[:1])
    registry.name([leaves[0]], Matching(continues={5: 0, 7: 0}, merged={0: [5, 7]}), {5: None, 7: None}, 50.0)
    assert reported(registry) == []
    assert ids_of(registry) == [1, 7]
    assert not registry.births


def test_parts_of_a_cluster_are_new_ones_and_it_was_split():
    registry, leaves = registry_of([0.0, 9.0, 20.0], [range(100)] * 3, 100)
    unnamed(registry, leaves[:2])
    registry.name(leaves[:2], Matching(continues={0: 1}, parts={0: [1, 0]}), {0: None}, 50.0)
    assert reported(registry) == [("split", [3, 4])]
    (event,) = registry.log.events
    assert event["node"] == 0
    assert 0 <= event["p_value"] <= 1
    assert ids_of(registry) == [2, 3, 4]


def test_parts_of_a_new_cluster_are_new_clusters():
    registry, leaves = registry_of([0.0, 9.0, 20.0], [range(100)] * 3, 100)
    registry.births[0] = Birth(10, 300)
    unnamed(registry, leaves[:2])
    registry.name(leaves[:2], Matching(continues={0: 0}, parts={0: [0, 1]}), {0: None}, 50.0)
    assert reported(registry) == []
    assert registry.births == {3: Birth(10, 300), 4: Birth(10, 300)}


@pytest.mark.parametrize("kind", ["parts", "merged"])
def test_nothing_is_left_of_the_rest_and_the_changes_of_a_cluster_that_is_split_or_wakes(kind):
    registry, leaves = registry_of([0.0, 9.0, 20.0], [range(100)] * 3, 100)
    registry.n_ids, registry.resting[0], registry.changed[0] = 8, 80, Change(10, 0.5)
    unnamed(registry, leaves[:2])
    if kind == "parts":
        registry.name(leaves[:2], Matching(continues={0: 0}, parts={0: [0, 1]}), {0: None}, 50.0)
        assert not registry.changed
    else:
        found = Matching(continues={0: 0, 7: 0, 6: 1}, merged={0: [0, 7]})
        registry.name(leaves[:2], found, {0: None, 6: None, 7: None}, 50.0)
    at_rest = [leaf for leaf in registry.nodes.leaves() if registry.nodes.leaf[leaf, REST_UNTIL] > 0]
    assert sorted(registry.resting) == [int(registry.nodes.identity[leaf]) for leaf in at_rest]


def test_lost_cluster_has_vanished_and_returns_with_its_identifier():
    registry, (lost, other) = registry_of([0.0, 9.0], [range(100), range(200)], 200)
    former = registry.as_it_is(lost)
    registry.nodes.remove(lost)
    registry.name([], Matching(lost=[0]), {0: former}, 100.0)
    assert reported(registry) == [("vanished", [0])]
    assert registry.log.events[0]["since"] >= 90
    again, leaves = registry_of([0.0, 9.0], [range(500, 600), range(200)], 600, seed=5)
    again.former, again.n_ids = registry.former, 9
    unnamed(again, leaves[:1])
    again.name([leaves[0]], Matching(new=[0]), {}, 500.0)
    assert reported(again) == [("returned", [0])]
    assert ids_of(again) == [0, 1]
    assert not again.former
    assert other == registry.nodes.root


def test_cluster_that_is_lost_and_found_in_one_region_is_not_reported():
    registry, leaves = registry_of([0.0, 9.0], [range(100), range(200)], 200)
    former = registry.as_it_is(leaves[0])
    unnamed(registry, leaves[:1])
    registry.name([leaves[0]], Matching(new=[0], lost=[0]), {0: former}, 100.0)
    assert reported(registry) == []
    assert ids_of(registry) == [0, 1]


def test_drift_names_all_clusters_and_those_that_are_still_there_keep_their_identifiers():
    registry, leaves = registry_of([0.0, 9.0, 20.0], [range(100)] * 3, 100)
    before = {k: registry.as_it_is(leaf) for k, leaf in enumerate(leaves)}
    registry.report_drift([0, 1, 2], before, 60.0)
    assert reported(registry) == [("drift", [0, 1, 2])]
    fresh, leaves = registry_of([0.0, 40.0, 60.0], [range(100, 200)] * 3, 200, seed=1)
    fresh.former, fresh.n_ids = registry.former, 3
    unnamed(fresh, leaves)
    fresh.name_anew(leaves)
    assert ids_of(fresh) == [0, 3, 4]
    assert [former.identity for former in fresh.former] == [1, 2]


def test_number_of_former_clusters_is_bounded_and_the_oldest_is_forgotten():
    registry, (leaf,) = registry_of([0.0], [range(100)], 100)
    profile = registry.nodes.profile(leaf)
    for k in range(MOST_FORMER + 5):
        registry.remember(k, Former(k, profile, 50, 0.5))
    assert [former.identity for former in registry.former] == list(range(5, MOST_FORMER + 5))


def test_last_row_of_a_cluster_is_the_last_that_fits():
    registry, (leaf,) = registry_of([0.0], [range(100)], 150)
    add_rows(registry.nodes, leaf, np.full((20, 1), 30.0), range(120, 140))
    assert 90 <= registry.as_it_is(leaf).last < 100
    assert registry.nodes.last(leaf) == 139


def test_identifiers_are_given_once():
    registry, _ = registry_of([0.0], [range(40)], 40)
    assert [registry.new_id() for _ in range(3)] == [1, 2, 3]
