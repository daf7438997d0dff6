"""Answer, inside a Blender with a window, what a program outside asks; see window.py.

blender --factory-startup --python tests/ui/agent.py -- FOLDER

Questions come as Python text in FOLDER, one at a time. They run on the main thread, between the
events of mouse and keyboard, and see Blender's data and what stage.py has.
"""

import ast
import json
import sys
import traceback
from pathlib import Path
from typing import Any

import bpy

HERE = Path(__file__).resolve().parent
FOLDER = Path(sys.argv[sys.argv.index("--") + 1])
QUESTION = FOLDER / "question.py"
ANSWER = FOLDER / "answer.json"
EVERY = 0.02

names: dict[str, Any] = {}


def value_of(text: str) -> Any:
    """Run statements, and return the value of the last one if it is an expression."""
    lines = ast.parse(text).body
    last = lines.pop() if isinstance(lines[-1], ast.Expr) else None
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        exec(compile(ast.Module(lines, []), "<question>", "exec"), names)
        if last is None:
            return None
        return eval(compile(ast.Expression(last.value), "<question>", "eval"), names)


def answered(text: str) -> str:
    """Return the answer as JSON; vectors and matrices become lists."""
    try:
        return json.dumps({"value": value_of(text)}, default=list)
    except Exception:
        return json.dumps({"error": traceback.format_exc()})


def listen() -> float:
    """Answer the question that is there, if one is."""
    if QUESTION.exists():
        text = QUESTION.read_text(encoding="utf-8")
        QUESTION.unlink()
        whole = answered(text)
        unfinished = ANSWER.with_suffix(".part")
        unfinished.write_text(whole, encoding="utf-8")
        unfinished.rename(ANSWER)
    return EVERY


def main() -> None:
    """Listen, with the stage's functions at hand."""
    sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "blender" / "kit")]
    import stage

    names.update(vars(stage))
    bpy.app.timers.register(listen, persistent=True)


main()
