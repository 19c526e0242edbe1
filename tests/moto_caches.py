"""Keeps what moto computes again for each request to DynamoDB: most of the processor time of a test with moto.

moto's answers stay the same. Each replaced function is one that moto calls with few different arguments.
"""

from __future__ import annotations

import copy
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any


@cache
def install() -> None:
    """Replace the functions for the whole process."""
    from moto.core import responses
    from moto.dynamodb.parsing.expressions import UpdateExpressionParser

    responses.method_names_from_class = cache(responses.method_names_from_class)
    # The parsed expression is read or copied, and never changed.
    UpdateExpressionParser.make = lru_cache(1000)(UpdateExpressionParser.make)
    _keep_possible_keys()
    _copy_tables_once_for_a_transaction()


def _keep_possible_keys() -> None:
    """The names that a field of a response may have in a dict depend on the service's description only."""
    from moto.core.serialize import AttributePickerContext, ResponseSerializer, XFormedAttributePicker

    found: dict[tuple[object, ...], tuple[str, ...]] = {}
    general = ResponseSerializer.get_value

    def get_value(self: Any, value: Any, key: str, shape: Any) -> Any:
        picker = self._value_picker
        if type(value) is not dict or type(picker) is not XFormedAttributePicker or picker.response_transformers:
            return general(self, value, key, shape)
        parent = getattr(shape, "parent", None)
        place = (self.service_model.service_name, parent and parent.name, key, shape.name)
        keys = found.get(place)
        if keys is None:
            context = AttributePickerContext(value, key, shape)
            keys = found[place] = tuple(dict.fromkeys(picker.get_possible_keys(context)))
        return next((value[each] for each in keys if each in value), None)

    ResponseSerializer.get_value = get_value


def _copy_tables_once_for_a_transaction() -> None:
    """moto copies the table for each item of a transaction, before it writes the first one."""
    from moto.dynamodb import models

    general = models.DynamoDBBackend.transact_write_items

    def transact_write_items(self: Any, transact_items: list[dict[str, Any]]) -> None:
        tables: dict[int, Any] = {}

        def deepcopy(value: Any) -> Any:
            if not isinstance(value, models.Table):
                return copy.deepcopy(value)
            if id(value) not in tables:
                tables[id(value)] = copy.deepcopy(value)
            return tables[id(value)]

        models.copy = SimpleNamespace(deepcopy=deepcopy)
        try:
            general(self, transact_items)
        finally:
            models.copy = copy

    models.DynamoDBBackend.transact_write_items = transact_write_items
