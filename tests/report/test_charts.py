"""Coordinates of the charts."""

from decoupling.report.charts import calibration_chart, trace_chart


def test_the_trace_fills_its_frame():
    chart = trace_chart([-30.0, -20.0, -10.0])
    assert chart["points"] == "12.0,188.0 320.0,100.0 628.0,12.0"
    assert (chart["low"], chart["high"]) == ("-30.0", "-10.0")


def test_a_flat_trace_and_a_long_one():
    assert trace_chart([5.0])["points"] == "12.0,188.0"
    assert trace_chart([-123456.0, -123456.0])["low"] == "-123,456"
    assert len(trace_chart(list(range(100)))["dots"]) == 1


def test_dots_lie_on_the_diagonal_where_probabilities_are_right():
    bins = [{"confidence": p, "right": p, "rows": n} for p, n in [(0.0, 1), (0.5, 4), (1.0, 100)]]
    dots = calibration_chart(bins)["dots"]
    assert [dot["x"] + dot["y"] for dot in dots] == [260, 260, 260]
    assert dots[0]["r"] < dots[1]["r"] < dots[2]["r"] == 10
    assert calibration_chart([])["dots"] == []
