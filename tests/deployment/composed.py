"""The processed template with everything composed, as CloudFormation sends it: names, ARNs and texts at full length."""

from __future__ import annotations

import re
from typing import Any

from .template import Deployment

NAME = 64
"""CloudFormation cuts generated names of functions and roles to this length."""


class ComposedDeployment(Deployment):
    """Also evaluates substitutions, lists and references to resources; these get physical ids at their longest."""

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

    def _reference(self, logical_id: str) -> str:
        function = self._arn.format(service="lambda", resource=f"function:{'f' * NAME}")
        match self._type(logical_id):
            case "AWS::Lambda::Version":
                return f"{function}:99999"
            case "AWS::Lambda::Alias":
                return f"{function}:live"
            case "AWS::Lambda::LayerVersion":
                return self._arn.format(service="lambda", resource=f"layer:{'l' * 140}:99999")
            case "AWS::ApiGatewayV2::Api" | "AWS::ApiGatewayV2::Integration" | "AWS::ApiGatewayV2::Authorizer":
                return "a1b2c3d4e5"
        return "n" * NAME

    def _attribute(self, logical_id: str, attribute: str) -> str:
        services = {
            "AWS::Lambda::Function": ("lambda", f"function:{'f' * NAME}"),
            "AWS::DynamoDB::Table": ("dynamodb", f"table/{'t' * 255}"),
            "AWS::Logs::LogGroup": ("logs", f"log-group:{'g' * 200}:*"),
            "AWS::SecretsManager::Secret": ("secretsmanager", f"secret:{'s' * NAME}-AbCdEf"),
        }
        if self._type(logical_id) == "AWS::IAM::Role":
            return f"arn:{self._pseudo['AWS::Partition']}:iam::{self._pseudo['AWS::AccountId']}:role/{'r' * NAME}"
        if attribute == "Version":
            return "99999"
        if attribute in ("Arn", "Id") and self._type(logical_id) in services:
            service, resource = services[self._type(logical_id)]
            return self._arn.format(service=service, resource=resource)
        return "https://a1b2c3d4e5.execute-api.ap-northeast-1.amazonaws.com.cn"
