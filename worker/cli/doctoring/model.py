"""Checks model endpoints: reachable, key accepted, model known. Makes no paid call."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2

from tools.environment import variable
from worker.agents import endpoint_of, load_agents, written_addresses
from worker.cli.doctoring.finding import Finding, Level, Patient, fault
from worker.core.errors import UserError, WrongKey
from worker.llm.address import as_written, parse_address
from worker.llm.endpoint import EndpointSettings
from worker.llm.keys import KeySource
from worker.llm.proxies import client_through, proxy_for
from worker.llm.scrub import scrubber

TIMEOUT_S = 10.0


def models(patient: Patient) -> Iterator[Finding]:
    """Yields one finding for each endpoint and model that an agent uses."""
    if "agents" not in patient.usable:
        return
    seen = set()
    for endpoint in _endpoints(patient):
        if (endpoint.base_url, endpoint.model) not in seen:
            seen.add((endpoint.base_url, endpoint.model))
            yield _look(endpoint, as_written(endpoint.base_url, written_addresses(patient.settings)))


def _endpoints(patient: Patient) -> Iterator[EndpointSettings]:
    agents = load_agents(patient.settings)
    for name in agents.agents:
        try:
            config = agents.configuration(name)
        except UserError:
            continue  # reported by the check of the agents
        if not config.simulated:
            yield endpoint_of(config, "")
        elif patient.settings.practice_url:
            yield endpoint_of(config, patient.settings.practice_url)


def _look(endpoint: EndpointSettings, written: str) -> Finding:
    about, where = f"model {endpoint.model}", endpoint.base_url
    address, proxy = parse_address(written), proxy_for(endpoint.base_url, variable)
    try:
        key = KeySource(variable).key(endpoint.api_key_env)
    except WrongKey as error:
        return fault(about, "key_unreadable", f"For {where} {error.message}.", "Correct the file or its permissions.")
    hidden = scrubber(tuple(filter(None, (key, *address.secrets))))
    authorization = f"Bearer {key}" if key else address.authorization
    headers = {"Authorization": authorization} if authorization else {}
    try:
        with client_through(proxy, timeout=TIMEOUT_S) as http:
            response = http.get(address.operation("models"), headers=headers)
    except (httpx2.TransportError, httpx2.InvalidURL, UnicodeEncodeError) as error:
        through = f" (through the proxy {proxy.name})" if proxy else ""
        said = hidden.error(str(error)) or type(error).__name__
        message = f"The model endpoint {where}{through} cannot be reached: {said}."
        remedy = "Check OPENAI_BASE_URL (or base_url of the agent), the network, and that it runs."
        return fault(about, "model_away", message, remedy, Level.UNREACHABLE)
    except UserError as error:
        return fault(about, "proxy", error.message, error.hint)
    if response.status_code in (401, 403):
        return _refused(about, where, endpoint, key)
    known = _listed(response)
    if known is not None and endpoint.model not in known:
        message = f"{where} does not list the model {endpoint.model!r}."
        some = hidden.text(", ".join(sorted(known)[:8])) or "nothing"
        return fault(about, "model_unknown", message, f"Correct STEPMILL_MODEL or the agent; it lists {some}.")
    return Finding(about, f"{where} answers" + ("" if known else " (it does not list its models)"))


def _refused(about: str, where: str, endpoint: EndpointSettings, key: str | None) -> Finding:
    variable = endpoint.api_key_env or "OPENAI_API_KEY"
    if key is None:
        return fault(about, "key_missing", f"{where} wants a key, and {variable} is not set.", f"Set {variable}.")
    message = f"{where} refuses the key in {variable}."
    return fault(about, "key_refused", message, f"Put a valid key into {variable}.")


def _listed(response: httpx2.Response) -> set[str] | None:
    """Returns the models that the endpoint lists; None if it has no such list."""
    try:
        return {str(one["id"]) for one in response.json()["data"]}
    except (ValueError, KeyError, TypeError):
        return None
