"""Caches values that moto computes again for each DynamoDB request, which takes most of a test's processor time.

moto's answers stay the same. moto calls each of the replaced functions with few different arguments.
"""

from __future__ import annotations

import copy
from functools import cache, lru_cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any


@cache
def install() -> None:
    """Replace the functions for the whole process."""
    responses: Any = import_module("moto.core.responses")
    responses.method_names_from_class = cache(responses.method_names_from_class)
    # The parsed expression is read or copied, but never changed.
    parser: Any = import_module("moto.dynamodb.parsing.expressions").UpdateExpressionParser
    parser.make = lru_cache(1000)(parser.make)
    _keep_possible_keys()
    _copy_tables_once_for_a_transaction()


def _keep_possible_keys() -> None:
    """Cache the names that a response's field may have in a dict, which depend only on the service's description."""
    serialize: Any = import_module("moto.core.serialize")
    found: dict[tuple[object, ...], tuple[str, ...]] = {}
    general = serialize.ResponseSerializer.get_value

    def get_value(self: Any, value: Any, key: str, shape: Any) -> Any:
        picker = self._value_picker
        if (
            type(value) is not dict
            or type(picker) is not serialize.XFormedAttributePicker
            or picker.response_transformers
        ):
            return general(self, value, key, shape)
        parent = getattr(shape, "parent", None)
        place = (self.service_model.service_name, parent and parent.name, key, shape.name)
        keys = found.get(place)
        if keys is None:
            context = serialize.AttributePickerContext(value, key, shape)
            keys = found[place] = tuple(dict.fromkeys(picker.get_possible_keys(context)))
        return next((value[each] for each in keys if each in value), None)

    serialize.ResponseSerializer.get_value = get_value


def _copy_tables_once_for_a_transaction() -> None:
    """Copy each table once: moto copies it for each item of a transaction, before it writes the first item."""
    models: Any = import_module("moto.dynamodb.models")
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
