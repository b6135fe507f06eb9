"""An agent's model settings, checked, and named the same on every machine."""

from __future__ import annotations

from typing import Any

import pytest

from worker.llm.endpoint import EndpointSettings, Limits


def test_settings_of_a_file_become_an_endpoint() -> None:
    endpoint = EndpointSettings.from_settings(
        {"model": "m", "base_url": "http://host:8000/v1", "temperature": None, "limits": {"requests_per_min": 60}}
    )
    assert endpoint.limits == Limits(requests_per_min=60)
    assert endpoint.temperature is None


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"model": " "}, "model is empty"),
        ({"model": "m", "modle": 1}, "unknown model setting 'modle'; known are api_key_env"),
        ({"model": "m", "base_url": "host:8000"}, "'host:8000' cannot be used"),
        ({"model": "m", "base_url": "http://host:port"}, "cannot be used"),
        ({"model": "m", "limits": {"per_day": 1}}, "limits takes requests_per_min"),
        ({"model": "m", "limits": {"concurrent": 0}}, "concurrent is 0"),
        ({"model": "m", "call_time_limit_s": 0}, "call_time_limit_s is 0"),
        ({"model": "m", "max_output_tokens": 0}, "max_output_tokens is 0"),
    ],
)
def test_a_wrong_setting_is_named(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        EndpointSettings.from_settings(values)


def test_the_id_names_address_and_model_and_nothing_else() -> None:
    one = EndpointSettings("m", base_url="http://host/v1", temperature=1.0)
    assert one.endpoint_id == EndpointSettings("m", base_url="http://host/v1/", api_key_env="OTHER").endpoint_id
    assert one.endpoint_id != EndpointSettings("n", base_url="http://host/v1").endpoint_id
    assert len(one.endpoint_id) == 16


def test_stop_sequences_are_sent_only_where_they_are_accepted() -> None:
    assert EndpointSettings("m").request([], stop=("x",)).stop == ("x",)
    assert EndpointSettings("m", send_stop=False).request([], stop=("x",)).stop == ()


def test_no_limits_are_false() -> None:
    assert not Limits()
    assert Limits(concurrent=3)
