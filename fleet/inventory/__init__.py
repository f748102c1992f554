"""From YAML to targets: loading, schema, variables, addresses. Pure: reads no target."""
