"""The functions that `berth serve` loads are those of the template."""

from __future__ import annotations

from berth_cli.server.functions import ROUTES
from berth_cli.server.local_stack import WATCHER
from tests.deployment.template import folders_of_functions, folders_of_routes, of_type, read_template


def test_routes_call_the_functions_of_the_template() -> None:
    assert folders_of_routes() == ROUTES
    assert WATCHER in folders_of_functions().values()


def test_every_function_has_the_handler_that_is_loaded() -> None:
    template = read_template()
    assert template["Globals"]["Function"]["Handler"] == "app.handler"
    functions = of_type(template, "AWS::Serverless::Function")
    assert [name for name, properties in functions.items() if "Handler" in properties] == []
    assert all(each["CodeUri"].startswith("functions/") for each in functions.values())
