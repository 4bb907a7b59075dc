"""A person on the page: opens views, clicks, reads."""

import asyncio
import sys

from nicegui import ui
from nicegui.testing import user_simulation

from planner.serve.page.shell import put_views


def seen(desk, steps):
    """Run what a person does on the page."""

    async def run():
        async with user_simulation() as user:
            put_views(desk)
            await steps(user)

    # The simulation forgets the modules of its pages and all that hold them, this package too.
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "planner"}
    try:
        asyncio.run(run())
    finally:
        sys.modules.update(kept)


async def until(user, text):
    for _ in range(300):
        try:
            await user.should_see(text, retries=1)
        except AssertionError:
            await asyncio.sleep(0.05)
        else:
            return
    await user.should_see(text)


def only(user, kind, **props):
    """The one element of a kind with such properties."""
    (found,) = [
        element
        for element in user.find(kind).elements
        if all(element.props.get(name) == value for name, value in props.items())
    ]
    return found


def texts(user):
    return [label.text for label in user.find(ui.label).elements]
