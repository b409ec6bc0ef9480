"""What it takes to make a report again."""

from sklearn.linear_model import LogisticRegression

from decoupling import DecouplingClassifier
from decoupling.report.reproduction import reproduction_of


def test_the_call_can_be_run(noisy):
    (command,) = reproduction_of(noisy, None, None, [])["commands"]
    assert "    task='class-conditional-noise',\n" in command
    assert "evidence" not in command  # a default
    compile(command, "command", "exec")


def test_defaults_need_no_arguments():
    (command,) = reproduction_of(DecouplingClassifier(), None, None, [])["commands"]
    assert "clf = DecouplingClassifier()\n" in command


def test_nothing_differs_from_run_to_run():
    class Odd:
        """Its repr has an address."""

    clf = DecouplingClassifier(LogisticRegression(C=2.0), cv=Odd())
    found = reproduction_of(clf, None, None, [])
    assert "0x" not in str(found)
    assert found["settings"]["estimator"] == "LogisticRegression(C=2.0)"


def test_settings_and_commands_of_the_caller(noisy):
    found = reproduction_of(noisy, {"label": "species", "rows": 3}, "cafe", ["decoupling run x"])
    assert found["settings"]["label"] == "species"
    assert found["settings"]["rows"] == "3"
    assert found["seed"] == "0"
    assert found["data_hash"] == "cafe"
    assert found["commands"] == ["decoupling run x"]
    assert set(found["versions"]) == {"python", "decoupling", "numpy", "scipy", "scikit-learn"}
