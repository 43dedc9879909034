"""OpenAPI description of the server, made from the table of its routes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from qwem import __version__
from qwem.explorer.routes import PATH_PARAMETERS, ROUTES
from qwem.explorer.schemas import ERROR

if TYPE_CHECKING:
    from qwem.explorer.parameters import Parameter
    from qwem.explorer.routes import Route

Json = dict[str, Any]

ERRORS = {
    "400": "The address or the body is not as described",
    "401": "The token is missing or wrong",
    "403": "The request comes from another site, or names another host",
    "404": "There is no such model, word or data",
    "409": "This model has no answer to such a request",
    "413": "The body is too large",
    "415": "The body is not JSON",
    "429": "Too many requests",
    "503": "Too much is being computed",
}
_WITH_A_BODY = ("413", "415")


def description() -> Json:
    """Return the OpenAPI description."""
    paths: dict[str, Json] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "qwem explore",
            "version": __version__,
            "description": "What a model knows: words, features, neighbours, time and dimension.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": ERROR},
        },
        "security": [{"token": []}],
    }


def path_parameters(route: Route) -> list[Parameter]:
    """Return the parameters in the path of a route."""
    return [PATH_PARAMETERS[name] for name in re.findall(r"{(\w+)}", route.path)]


def _operation(route: Route) -> Json:
    media = "application/octet-stream" if route.binary else "application/json"
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    operation: Json = {
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()}_{route.path[5:]}").strip("_"),
        "summary": route.about,
        "parameters": [
            *(_parameter(each, "path") for each in path_parameters(route)),
            *(_parameter(each, "query") for each in route.parameters),
        ],
        "responses": {
            "200": {"description": route.about, "content": {media: {"schema": route.schema}}},
            **{
                status: {"description": about, "content": error}
                for status, about in ERRORS.items()
                if route.body is not None or status not in _WITH_A_BODY
            },
        },
    }
    if route.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": route.body}},
        }
    return operation


def _parameter(parameter: Parameter, where: str) -> Json:
    return {
        "name": parameter.name,
        "in": where,
        "description": parameter.about,
        "required": where == "path" or parameter.required,
        "schema": parameter.schema,
    }
