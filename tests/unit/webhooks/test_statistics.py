import pytest

from svc_pg.webhooks.worker.statistics import BUCKETS, Histogram, Statistics


def some_tally() -> Statistics:
    statistics = Statistics(claimed=3, in_flight=2, reconnects=1)
    statistics.attempts["success"] += 2
    statistics.deliveries["delivered"] += 1
    statistics.maintenance["failure"] += 1
    statistics.attempt_duration.add(0.3)
    statistics.claim_duration.add(0.002)
    return statistics


def test_a_tally_survives_the_way_to_another_process() -> None:
    assert Statistics.from_json(some_tally().to_json()) == some_tally()
    assert Statistics.from_json(Statistics().to_json()) == Statistics()


def test_tallies_add_up() -> None:
    total = some_tally() + some_tally()
    assert (total.claimed, total.in_flight, total.attempts["success"], total.lost_leases) == (6, 4, 4, 0)
    assert total.attempt_duration.seconds == pytest.approx(0.6)
    assert sum(total.attempt_duration.counts) == 2


@pytest.mark.parametrize(("seconds", "bucket"), [(0.0, 0), (0.005, 0), (0.0051, 1), (60.0, 13), (61.0, 14)])
def test_a_duration_is_counted_in_the_first_bucket_that_holds_it(seconds: float, bucket: int) -> None:
    histogram = Histogram()
    histogram.add(seconds)
    assert histogram.counts.index(1) == bucket
    assert bucket == len(BUCKETS) or seconds <= BUCKETS[bucket]
