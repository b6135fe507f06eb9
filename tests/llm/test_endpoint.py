"""An agent's model settings, checked, and named the same on every machine."""

from __future__ import annotations

import pytest

from worker.core.config import EndpointLimits, RunConfig
from worker.llm.endpoint import EndpointSettings


def test_a_configuration_becomes_an_endpoint() -> None:
    config = RunConfig(model="m", temperature=None, limits=EndpointLimits(requests_per_min=60))
    endpoint = EndpointSettings.of(config, "http://host:8000/v1")
    assert endpoint.limits == EndpointLimits(requests_per_min=60)
    assert (endpoint.model, endpoint.base_url, endpoint.temperature) == ("m", "http://host:8000/v1", None)


@pytest.mark.parametrize("url", ["host:8000", "http://host:port"])
def test_a_wrong_address_is_named(url: str) -> None:
    with pytest.raises(ValueError, match="cannot be used"):
        EndpointSettings.of(RunConfig(model="m"), url)


def test_the_id_names_address_and_model_and_nothing_else() -> None:
    one = EndpointSettings("m", base_url="http://host/v1", temperature=1.0)
    assert one.endpoint_id == EndpointSettings("m", base_url="http://host/v1/", api_key_env="OTHER").endpoint_id
    assert one.endpoint_id != EndpointSettings("n", base_url="http://host/v1").endpoint_id
    assert len(one.endpoint_id) == 16


def test_stop_sequences_are_sent_only_where_they_are_accepted() -> None:
    assert EndpointSettings("m").request([], stop=("x",)).stop == ("x",)
    assert EndpointSettings("m", send_stop=False).request([], stop=("x",)).stop == ()


def test_no_limits_are_false() -> None:
    assert not EndpointLimits()
    assert EndpointLimits(concurrent=3)
