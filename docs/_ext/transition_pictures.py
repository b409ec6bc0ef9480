"""Pictures for the page of problems: T of each task, and the way from symptoms to a task.

They are SVG that a page includes as it is (`{raw} html`), so that text has the colour of the page,
light or dark. As an extension of Sphinx this makes them before pages are read; as a script,
`python docs/_ext/transition_pictures.py`, it makes them at once. They go to `docs/generated`.
"""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, Final

from decoupling import TransitionPrior

FOLDER: Final = Path(__file__).resolve().parents[1] / "generated"

ANIMALS: Final = ("cat", "dog", "bird")
# Priors that are drawn, by task.
PRIORS: Final = {
    "supervised": TransitionPrior.supervised(ANIMALS),
    "semi-supervised": TransitionPrior.semi_supervised(ANIMALS, labelled=0.3),
    "positive-unlabelled": TransitionPrior.positive_unlabelled(0.3, "cat", "negative"),
    "multi-positive-unlabelled": TransitionPrior.multi_positive_unlabelled(
        ["cat", "dog"], labelled=0.3
    ),
    "noisy": TransitionPrior.noisy(ANIMALS, noise=0.2),
    "class-conditional-noise": TransitionPrior.class_conditional_noise(
        ANIMALS, [[0, 0.3, 0], [0, 0, 0], [0, 0.1, 0]]
    ),
    "complementary": TransitionPrior.complementary(ANIMALS),
}

# Questions, and where their answers lead; the last answer of each but the last question goes on.
QUESTIONS: Final = (
    ("Do labels say what a row is not?", (("yes", "complementary"), ("no", None))),
    (
        "Is there a class that nobody labels?",
        (
            ("yes, one label", "positive-unlabelled"),
            ("yes, several", "multi-positive-unlabelled"),
            ("no", None),
        ),
    ),
    (
        "Can labels be wrong?",
        (
            ("no, and every row has one", "supervised"),
            ("no, but some are missing", "semi-supervised"),
            ("yes", None),
        ),
    ),
    (
        "Are some mistakes likelier than others?",
        (("no, or not known", "noisy"), ("yes", "class-conditional-noise")),
    ),
)

BLUE: Final = "#0072b2"
# From this share of blue on, white is read better than the colour of the page's text.
DARK: Final = 0.85
# Width of a cell, in pixels.
CELL_WIDTH: Final = 76
# Height of a cell, in pixels.
CELL_HEIGHT: Final = 34
LINE: Final = 'fill="none" stroke="currentColor" stroke-width="1.5"'
LINK: Final = f'fill="var(--pst-color-link, {BLUE})" font-family="monospace"'


def transition_picture(name: str, prior: TransitionPrior) -> str:
    """T as a map: what is learned is written with a tilde, what never happens with a dash."""
    labels = ["none" if label is None else str(label) for label in prior.labels]
    left, top = 76, 50
    width, height = left + CELL_WIDTH * len(labels), top + CELL_HEIGHT * len(prior.classes)
    parts = [text(left + (width - left) / 2, 16, "label", "middle", weight="bold")]
    parts += [text(0, top - 10, "class", "start", weight="bold")]
    for s, label in enumerate(labels):
        parts.append(text(left + (s + 0.5) * CELL_WIDTH, top - 10, label, "middle"))
    for c, row in enumerate(prior.classes):
        y = top + c * CELL_HEIGHT
        parts.append(text(0, y + 22, str(row), "start"))
        for s, share in enumerate(prior.mean[c]):
            x = left + s * CELL_WIDTH
            parts.append(
                f'<rect x="{x}" y="{y}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}" fill="{BLUE}" '
                f'fill-opacity="{share:.2f}" stroke="currentColor" stroke-opacity="0.4"/>'
            )
            ink = "white" if share > DARK else "currentColor"
            number = "–" if share == 0 else f"{'' if prior.known[c] else '≈ '}{share:.3g}"
            parts.append(text(x + CELL_WIDTH / 2, y + 22, number, "middle", ink))
    return svg(f"T of the task {name}", width + 2, height + 2, parts)


def decision_picture() -> str:
    """From symptoms to a task, from above; the names of tasks are links into the page."""
    width, y = 348, 4
    parts = []
    for number, (question, answers) in enumerate(QUESTIONS, start=1):
        parts.append(
            f'<rect x="2" y="{y}" width="{width - 4}" height="32" rx="6" fill="{BLUE}" '
            f'fill-opacity="0.18" stroke="{BLUE}"/>'
        )
        parts.append(text(14, y + 21, f"{number}. {question}", "start", weight="bold"))
        y += 32
        for said, task in answers:
            end = y + 22
            if task is None:
                parts.append(f'<path d="M20 {y} V{end + 4} m-4 -6 l4 6 l4 -6" {LINE}/>')
                parts.append(text(34, y + 19, said, "start"))
                y += 30
            else:
                parts.append(f'<path d="M20 {y} V{end - 4} H30" {LINE}/>')
                last = (said, task) == answers[-1]
                if not last:
                    parts.append(f'<path d="M20 {y} V{y + 28}" {LINE}/>')
                parts.append(text(34, end, f"{said}: ", "start", link=task))
                y += 28
    return svg("From symptoms to a task", width, y + 6, parts)


def text(
    x: float,
    y: float,
    words: str,
    anchor: str,
    fill: str = "currentColor",
    weight: str = "normal",
    link: str = "",
) -> str:
    """A line of text, which may end with a link to a section of the page."""
    target = f'<a href="#{link}"><tspan {LINK} text-decoration="underline">{link}</tspan></a>'
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{fill}" font-weight="{weight}">'
        f"{escape(words)}{target if link else ''}</text>"
    )


def svg(title: str, width: float, height: float, parts: list[str]) -> str:
    """A picture that is as wide as it is drawn, or as the page if that is narrower."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'role="img" aria-label="{escape(title)}" font-family="sans-serif" font-size="13" '
            f'style="width: {width:g}px; max-width: 100%; height: auto; margin-bottom: 1rem">',
            *parts,
            "</svg>\n",
        ]
    )


def pictures() -> Iterator[tuple[str, str]]:
    """File names and what is in the files."""
    yield "decision.svg", decision_picture()
    for name, prior in PRIORS.items():
        yield f"{name}.svg", transition_picture(name, prior)


def write(folder: Path = FOLDER) -> None:
    """Write all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in pictures():
        (folder / name).write_text(content, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "generated"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    write()
