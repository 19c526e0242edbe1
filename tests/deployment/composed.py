"""The processed template with composed values, as CloudFormation sends them: names, ARNs and texts at full length."""

from __future__ import annotations

import re
from typing import Any

from .template import Deployment

NAME_LIMITS = {
    "AWS::CloudWatch::Alarm": 255,
    "AWS::CodeDeploy::Application": 100,
    "AWS::CodeDeploy::DeploymentGroup": 100,
    "AWS::DynamoDB::Table": 255,
    "AWS::IAM::ManagedPolicy": 128,
    "AWS::IAM::Role": 64,
    "AWS::Lambda::Function": 64,
    "AWS::Scheduler::Schedule": 64,
}
"""The services' limits in characters, to which CloudFormation cuts the names that it generates."""
NAME_PROPERTIES = {
    "AWS::ApiGatewayV2::DomainName": "DomainName",
    "AWS::ApiGatewayV2::Stage": "StageName",
    "AWS::CloudWatch::Dashboard": "DashboardName",
    "AWS::Lambda::LayerVersion": "LayerName",
    "AWS::Logs::LogGroup": "LogGroupName",
}
"""Properties in which the template gives a name."""
RANDOM = 13
"""Number of characters that CloudFormation adds to a generated name; 12 for a secret."""
API_ID = "a1b2c3d4e5"


class ComposedDeployment(Deployment):
    """Also evaluates substitutions, lists and references to resources, whose physical ids have the greatest length."""

    def __init__(
        self, template: dict[str, Any], *, stack: str, partition: str, region: str, domain: str, **parameters: str
    ) -> None:
        super().__init__(template, **parameters)
        account = "123456789012"
        self._pseudo = {
            "AWS::StackName": stack,
            "AWS::Partition": partition,
            "AWS::Region": region,
            "AWS::AccountId": account,
            "AWS::URLSuffix": domain,
        }
        self._arn = f"arn:{partition}:{{service}}:{region}:{account}:{{resource}}"

    def value(self, expression: Any) -> Any:
        match expression:
            case {"Ref": str(name)} if name in self._pseudo:
                return self._pseudo[name]
            case {"Ref": str(name)} if name in self._template["Resources"]:
                return self._reference(name)
            case {"Fn::GetAtt": str(name)}:
                return self._attribute(*name.split(".", 1))
            case {"Fn::GetAtt": [str(name), str(attribute)]}:
                return self._attribute(name, attribute)
            case {"Fn::Sub": str(text)}:
                return self._substituted(text, {})
            case {"Fn::Sub": [str(text), dict(variables)]}:
                return self._substituted(text, variables)
            case {"Fn::Join": [str(separator), list(members)]}:
                return separator.join(str(self.value(member)) for member in members)
            case {"Fn::Split": [str(separator), text]}:
                return str(self.value(text)).split(separator)
            case {"Fn::Select": [index, members]}:
                return self.value(members)[int(index)]
        return super().value(expression)

    def _substituted(self, text: str, variables: dict[str, Any]) -> str:
        def replaced(found: re.Match[str]) -> str:
            name = found[1]
            if name in variables:
                return str(self.value(variables[name]))
            return str(self.value({"Fn::GetAtt": name} if "." in name else {"Ref": name}))

        return re.sub(r"\$\{([^!}][^}]*)\}", replaced, text)

    def _type(self, logical_id: str) -> str:
        return str(self._template["Resources"][logical_id]["Type"])

    def _property(self, logical_id: str, name: str) -> str:
        return str(self.value(self._template["Resources"][logical_id]["Properties"][name]))

    def _name(self, logical_id: str) -> str:
        kind = self._type(logical_id)
        if kind in NAME_PROPERTIES:
            return self._property(logical_id, NAME_PROPERTIES[kind])
        if kind == "AWS::SecretsManager::Secret":
            return f"{logical_id}-{'X' * (RANDOM - 1)}"
        return f"{self._pseudo['AWS::StackName']}-{logical_id}-{'X' * RANDOM}"[: NAME_LIMITS[kind]]

    def _reference(self, logical_id: str) -> str:
        match self._type(logical_id):
            case "AWS::Lambda::Version":
                return f"{self._function_arn(self._property(logical_id, 'FunctionName'))}:99999"
            case "AWS::Lambda::Alias":
                return f"{self._function_arn(self._property(logical_id, 'FunctionName'))}:live"
            case "AWS::Lambda::LayerVersion":
                return f"{self._arn.format(service='lambda', resource=f'layer:{self._name(logical_id)}')}:99999"
            case "AWS::SecretsManager::Secret" | "AWS::IAM::ManagedPolicy":
                return self._attribute(logical_id, "Arn")
            case "AWS::ApiGatewayV2::Api" | "AWS::ApiGatewayV2::Integration" | "AWS::ApiGatewayV2::Authorizer":
                return API_ID
        return self._name(logical_id)

    def _function_arn(self, name: str) -> str:
        return self._arn.format(service="lambda", resource=f"function:{name}")

    def _attribute(self, logical_id: str, attribute: str) -> str:
        pseudo = self._pseudo
        match self._type(logical_id), attribute:
            case "AWS::Lambda::Function", "Arn":
                return self._function_arn(self._name(logical_id))
            case "AWS::Lambda::Version", "Version":
                return "99999"
            case "AWS::DynamoDB::Table", "Arn":
                return self._arn.format(service="dynamodb", resource=f"table/{self._name(logical_id)}")
            case "AWS::CloudWatch::Alarm", "Arn":
                return self._arn.format(service="cloudwatch", resource=f"alarm:{self._name(logical_id)}")
            case "AWS::Logs::LogGroup", "Arn":
                return self._arn.format(service="logs", resource=f"log-group:{self._name(logical_id)}:*")
            case "AWS::SecretsManager::Secret", "Arn" | "Id":
                secret = f"secret:{self._name(logical_id)}-AbCdEf"
                return self._arn.format(service="secretsmanager", resource=secret)
            case ("AWS::IAM::Role" | "AWS::IAM::ManagedPolicy") as kind, "Arn":
                resource = "role" if kind == "AWS::IAM::Role" else "policy"
                account = pseudo["AWS::AccountId"]
                return f"arn:{pseudo['AWS::Partition']}:iam::{account}:{resource}/{self._name(logical_id)}"
            case "AWS::ApiGatewayV2::Api", "ApiEndpoint":
                return f"https://{API_ID}.execute-api.{pseudo['AWS::Region']}.{pseudo['AWS::URLSuffix']}"
            case "AWS::ApiGatewayV2::DomainName", "RegionalDomainName":
                return f"d-{API_ID}.execute-api.{pseudo['AWS::Region']}.{pseudo['AWS::URLSuffix']}"
        raise AssertionError(f"{logical_id}.{attribute}: add what AWS returns")
