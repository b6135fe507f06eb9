"""The base of all that is given as fields: strict about names and numbers, and clear about what is wrong."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from worker.core.given import nearest, unfit, unknown_name

UNKNOWN_NAME = "unknown_name"
"""The type of the error whose message is a whole sentence about a name."""


class Given(BaseModel):
    """Refuses unknown names with the nearest right one, and true, NaN, infinity and NUL where they mean nothing."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_names(cls, given: Any) -> Any:
        if isinstance(given, dict):
            for name in given:
                if name not in cls.model_fields:
                    sentence = unknown_name(str(name), cls.model_fields, "field")
                    raise PydanticCustomError(
                        UNKNOWN_NAME,
                        "{sentence}",
                        {"sentence": sentence, "name": str(name), "meant": nearest(str(name), cls.model_fields)},
                    )
        return given

    @field_validator("*", mode="before")
    @classmethod
    def _plain_values(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) and not _takes_flags(cls.model_fields[str(info.field_name)].annotation):
            raise PydanticCustomError("flag", "true and false are not understood here")
        if isinstance(value, str) and "\0" in value:
            raise PydanticCustomError("nul", "it contains a NUL character")
        if isinstance(value, (dict, list)) and (reason := unfit(value)) is not None:
            raise PydanticCustomError("unfit", "it {reason}", {"reason": reason})
        return value


def _takes_flags(annotation: Any) -> bool:
    return annotation in (bool, Any) or any(_takes_flags(part) for part in get_args(annotation))
