// The few calls of BMv2's Thrift interface that P4Runtime doesn't have there: registers, queue depth and rate, and ports.
// Services are multiplexed: "standard" and "simple_switch".

typedef i64 Cell

enum RegisterError {
  NO_SUCH_REGISTER = 1,
  NO_SUCH_INDEX = 2,
  FAILED = 3
}

exception RegisterFailure {
  1: RegisterError code
}

struct Port {
  1: i32 port
}

exception PortFailure {
  1: i32 code
}

service Standard {
  Cell bm_register_read(1: i32 context, 2: string name, 3: i32 index) throws (1: RegisterFailure failure)
  list<Cell> bm_register_read_all(1: i32 context, 2: string name) throws (1: RegisterFailure failure)
  list<Port> bm_dev_mgr_show_ports() throws (1: PortFailure failure)
  void bm_dev_mgr_add_port(1: string device, 2: i32 port, 3: string capture_file) throws (1: PortFailure failure)
  void bm_dev_mgr_remove_port(1: i32 port) throws (1: PortFailure failure)
}

service SimpleSwitch {
  i32 set_egress_queue_depth(1: i32 port, 2: i32 packets)
  i32 set_egress_queue_rate(1: i32 port, 2: i64 packets_per_second)
}
