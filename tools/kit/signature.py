"""A function's parameters as a pydantic model: makes the schema for the model, and checks the arguments."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model

from tools.kit.context import ToolContext
from tools.kit.errors import BadTool

_PREFIX = "arg_"
"""Prefix of fields, so that a parameter may be called `schema`, `json` or `_x` without hiding the model's own."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, arbitrary_types_allowed=False)


@dataclass(frozen=True, slots=True)
class Signature:
    """Checks arguments and prepares the call: `whole` names the parameter that takes the model as one object."""

    model: type[BaseModel]
    whole: str | None
    context: str | None

    def keywords(self, arguments: BaseModel, context: ToolContext) -> dict[str, Any]:
        """Returns the function's keyword arguments, with nested models as objects."""
        found: dict[str, Any]
        if self.whole:
            found = {self.whole: arguments}
        else:
            fields = type(arguments).model_fields
            found = {name.removeprefix(_PREFIX): getattr(arguments, name) for name in fields}
        return found | ({self.context: context} if self.context else {})


def read_signature(function: Callable[..., Any], tool_name: str, descriptions: dict[str, str]) -> Signature:
    """Reads a signature. Raises BadTool if a parameter has no type, cannot be passed by name, or is not JSON."""
    hints = _hints(function, tool_name)
    context: str | None = None
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        _check_kind(parameter, tool_name)
        if parameter.name not in hints:
            raise BadTool(tool_name, f"parameter `{parameter.name}` has no type; write `{parameter.name}: str`, say")
        if hints[parameter.name] is ToolContext:
            context = parameter.name
        else:
            parameters.append(parameter)
    only = hints[parameters[0].name] if len(parameters) == 1 else None
    if isinstance(only, type) and issubclass(only, BaseModel) and not issubclass(only, RootModel):
        return Signature(only, parameters[0].name, context)
    unknown = descriptions.keys() - {parameter.name for parameter in parameters} - {context}
    if unknown:
        raise BadTool(
            tool_name, f"the docstring describes {', '.join(sorted(unknown))}, which the function does not take"
        )
    return Signature(_model(tool_name, parameters, hints, descriptions), None, context)


def _hints(function: Callable[..., Any], tool_name: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        raise BadTool(
            tool_name, f"its type annotations cannot be read ({error}); import the types at module level"
        ) from error


def _check_kind(parameter: inspect.Parameter, tool_name: str) -> None:
    if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise BadTool(
            tool_name, f"parameter `{parameter}` cannot be passed by name; give each argument its own name and type"
        )


def _model(
    tool_name: str, parameters: list[inspect.Parameter], hints: dict[str, Any], descriptions: dict[str, str]
) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for parameter in parameters:
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[_PREFIX + parameter.name] = (hints[parameter.name], _field(default, parameter.name, descriptions))
    try:
        return create_model(f"{tool_name}_arguments", __base__=_Arguments, **fields)
    except Exception as error:  # pydantic raises several unrelated classes for types that it cannot check
        raise BadTool(tool_name, f"its arguments have no JSON schema ({str(error).splitlines()[0]})") from error


def _field(default: Any, name: str, descriptions: dict[str, str]) -> Any:
    """Uses the docstring's description if there is one, else that of `Annotated[…, Field(description=…)]`."""
    if name in descriptions:
        return Field(default, alias=name, description=descriptions[name])
    return Field(default, alias=name)
