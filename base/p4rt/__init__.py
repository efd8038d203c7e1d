"""The messages of P4Runtime 1.6.0 and of what goes with it, by the names that its clients give
them; each module is one file of `protos`, loaded when it is imported.

| module | file |
|---|---|
| `p4r`, `p4r_grpc` | p4/v1/p4runtime.proto: messages; the service |
| `p4d` | p4/v1/p4data.proto |
| `p4i`, `p4t` | p4/config/v1: p4info.proto, p4types.proto |
| `rpc_code`, `rpc_status` | google/rpc: code.proto, status.proto |
| `any_pb` | google/protobuf/any.proto |
| `gnmi`, `gnmi_ext` | gNMI 0.10.0 |
| `stratum` | stratum/p4_role_config.proto |

Beside each lies its stub for type checkers (`make messages`).
"""
