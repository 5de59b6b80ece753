"""The log of events: bounded, in order, and in words."""

import pytest

from ravine.tree._stream._events import KINDS, MOST_EVENTS, MOST_NAMED, EventLog


def test_events_are_kept_in_the_order_in_which_they_were_reported():
    log, heard = EventLog(), []
    log.on_event = heard.append
    for row, kind in enumerate(("moved", "appeared", "moved", "vanished", "drift", "split")):
        log.report(kind, row, row - 0.5, [row], node=3)
    assert log.events == heard
    assert [event["number"] for event in heard] == list(range(6))
    assert [event["since"] for event in heard] == [0, 0, 1, 2, 3, 4]
    assert log.n_events == {**dict.fromkeys(KINDS, 0), "moved": 2, "appeared": 1, "vanished": 1, "drift": 1, "split": 1}


def test_the_last_events_of_each_kind_are_kept_and_all_are_counted():
    log = EventLog()
    log.report("appeared", 0, 0, [1])
    for row in range(MOST_EVENTS + 7):
        log.report("moved", row, row, [1])
    events = log.events
    assert len(events) == MOST_EVENTS + 1
    assert events[0]["kind"] == "appeared"
    assert events[1]["row"] == 7
    assert log.n_events["moved"] == MOST_EVENTS + 7
    assert [event["number"] for event in events] == sorted(event["number"] for event in events)


@pytest.mark.parametrize("kind", KINDS)
def test_words_of_an_event_name_its_clusters(kind):
    log = EventLog()
    log.report(kind, 9, 5, [41, 42], node=7)
    (event,) = log.events
    assert "41" in event["text"]
    assert "42" in event["text"]


def test_words_of_many_clusters_count_those_that_they_do_not_name():
    log = EventLog()
    log.report("drift", 0, 0, list(range(100, 130)))
    (event,) = log.events
    assert f"and {30 - MOST_NAMED + 1} more" in event["text"]
    assert str(100 + MOST_NAMED) not in event["text"]
    assert event["clusters"] == list(range(100, 130))


def test_restored_log_goes_on_as_the_saved_one():
    ours, theirs = EventLog(), EventLog()
    for row in range(5):
        ours.report(KINDS[row % 3], row, row, [row])
    theirs.restore(ours.events, dict(ours.n_events))
    for log in (ours, theirs):
        log.report("moved", 9, 9, [1])
    assert ours.events == theirs.events
    assert ours.n_events == theirs.n_events
