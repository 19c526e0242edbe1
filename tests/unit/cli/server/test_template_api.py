"""Reading the HTTP API and the functions from a template."""

from __future__ import annotations

from pathlib import Path

import pytest

from berth_cli.server.functions import read_template_api

TEMPLATE = """
Globals: {Function: {Handler: app.handler}}
Resources:
  OneFunction: {Type: AWS::Serverless::Function, Properties: {CodeUri: functions/one}}
  TwoFunction: {Type: AWS::Serverless::Function, Properties: {CodeUri: functions/two, Handler: main.run}}
  Unrelated: {Type: AWS::DynamoDB::Table}
  OneIntegration:
    Type: AWS::ApiGatewayV2::Integration
    Properties: {IntegrationUri: !Sub "${OneFunction.Arn}:live"}
  TwoIntegration:
    Type: AWS::ApiGatewayV2::Integration
    Properties: {IntegrationUri: !Sub "${TwoFunction.Arn}:live"}
  OneRoute:
    Type: AWS::ApiGatewayV2::Route
    Properties: {RouteKey: POST /one, Target: !Sub "integrations/${OneIntegration}"}
  TwoRoute:
    Type: AWS::ApiGatewayV2::Route
    Properties: {RouteKey: GET /two, Target: !Sub "integrations/${TwoIntegration}"}
"""


def written(directory: Path, text: str) -> Path:
    path = directory / "template.yaml"
    path.write_text(text)
    return path


def test_maps_routes_to_functions(tmp_path: Path) -> None:
    api = read_template_api(written(tmp_path, TEMPLATE))
    assert {route: source.logical_id for route, source in api.routes.items()} == {
        "POST /one": "OneFunction",
        "GET /two": "TwoFunction",
    }
    assert (api.functions["OneFunction"].code, api.functions["OneFunction"].handler) == (
        tmp_path / "functions/one",
        "app.handler",
    )
    assert api.functions["TwoFunction"].handler == "main.run"


def test_rejects_integration_without_resource(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="names no resource"):
        read_template_api(written(tmp_path, TEMPLATE.replace("integrations/${OneIntegration}", "nothing")))
