// BMv2's runtime interface: names and numbers are those on the wire. Services are multiplexed, as "standard",
// "simple_pre", "simple_pre_lag" and "simple_switch". Contexts: simple_switch has one, 0.

typedef i32 Context
typedef list<binary> Arguments

// ---- tables ----

struct Exact { 1: binary key }
struct Lpm { 1: binary key, 2: i32 prefix_length }
struct Ternary { 1: binary key, 2: binary mask }
struct Valid { 1: bool key }
struct Range { 1: binary start, 2: binary end_ }

enum MatchKind { EXACT = 0, LPM = 1, TERNARY = 2, VALID = 3, RANGE = 4 }

struct Match {
  1: MatchKind type
  2: optional Exact exact
  3: optional Lpm lpm
  4: optional Ternary ternary
  5: optional Valid valid
  6: optional Range range
}

struct Options { 1: optional i32 priority }

enum ActionKind { NONE = 0, DATA = 1, MEMBER = 2, GROUP = 3 }

struct ActionEntry {
  1: ActionKind action_type
  2: optional string action_name
  3: optional Arguments action_data
  4: optional i32 mbr_handle
  5: optional i32 grp_handle
}

struct Life { 1: i32 timeout_ms, 2: i32 time_since_hit_ms }

struct Entry {
  1: list<Match> match_key
  2: Options options
  3: i32 entry_handle
  4: ActionEntry action_entry
  5: optional Life life
}

struct Member { 1: i32 mbr_handle, 2: string action_name, 3: Arguments action_data }
struct Group { 1: i32 grp_handle, 2: list<i32> mbr_handles }

enum TableError {
  TABLE_FULL = 1, INVALID_HANDLE = 2, EXPIRED_HANDLE = 3, COUNTERS_DISABLED = 4, METERS_DISABLED = 5, AGEING_DISABLED = 6,
  INVALID_TABLE_NAME = 7, INVALID_ACTION_NAME = 8, WRONG_TABLE_TYPE = 9, INVALID_MBR_HANDLE = 10, MBR_STILL_USED = 11,
  MBR_ALREADY_IN_GRP = 12, MBR_NOT_IN_GRP = 13, INVALID_GRP_HANDLE = 14, GRP_STILL_USED = 15, EMPTY_GRP = 16,
  DUPLICATE_ENTRY = 17, BAD_MATCH_KEY = 18, INVALID_METER_OPERATION = 19, DEFAULT_ACTION_IS_CONST = 20,
  DEFAULT_ENTRY_IS_CONST = 21, NO_DEFAULT_ENTRY = 22, INVALID_ACTION_PROFILE_NAME = 23, NO_ACTION_PROFILE_SELECTION = 24,
  IMMUTABLE_TABLE_ENTRIES = 25, BAD_ACTION_DATA = 26, NO_TABLE_KEY = 27, ERROR = 100
}

exception TableFailure { 1: TableError code }

// ---- arrays ----

struct CounterValue { 1: i64 bytes, 2: i64 packets }
struct Rate { 1: double units_per_micros, 2: i32 burst_size }

exception CounterFailure { 1: i32 code }
exception MeterFailure { 1: i32 code }
exception RegisterFailure { 1: i32 code }

// ---- the rest ----

exception ValueSetFailure { 1: i32 code }
exception LearnFailure { 1: i32 code }
exception SwapFailure { 1: i32 code }
exception PortFailure { 1: i32 code }
exception CrcFailure { 1: i32 code }
exception ToeplitzFailure { 1: i32 code }
exception LookupFailure { 1: i32 code }
exception ReplicationFailure { 1: i32 code }
exception MirrorFailure { 1: i32 code }

struct Port { 1: i32 port_num, 2: string iface_name, 3: bool is_up, 4: map<string, string> extra }
struct Crc16 { 1: i16 polynomial, 2: i16 initial_remainder, 3: i16 final_xor_value, 4: bool data_reflected, 5: bool remainder_reflected }
struct Crc32 { 1: i32 polynomial, 2: i32 initial_remainder, 3: i32 final_xor_value, 4: bool data_reflected, 5: bool remainder_reflected }
struct Config {
  1: i64 device_id
  2: i32 thrift_port
  3: optional string notifications_socket
  4: optional string elogger_socket
  5: optional string debugger_socket
}

service Standard {
  i64 bm_mt_get_num_entries(1: Context c, 2: string table) throws (1: TableFailure f)
  void bm_mt_clear_entries(1: Context c, 2: string table, 3: bool reset_default) throws (1: TableFailure f)
  i32 bm_mt_add_entry(1: Context c, 2: string table, 3: list<Match> key, 4: string action, 5: Arguments data, 6: Options options) throws (1: TableFailure f)
  void bm_mt_set_default_action(1: Context c, 2: string table, 3: string action, 4: Arguments data) throws (1: TableFailure f)
  void bm_mt_reset_default_entry(1: Context c, 2: string table) throws (1: TableFailure f)
  void bm_mt_delete_entry(1: Context c, 2: string table, 3: i32 entry) throws (1: TableFailure f)
  void bm_mt_modify_entry(1: Context c, 2: string table, 3: i32 entry, 4: string action, 5: Arguments data) throws (1: TableFailure f)
  void bm_mt_set_entry_ttl(1: Context c, 2: string table, 3: i32 entry, 4: i32 timeout_ms) throws (1: TableFailure f)

  i32 bm_mt_act_prof_add_member(1: Context c, 2: string profile, 3: string action, 4: Arguments data) throws (1: TableFailure f)
  void bm_mt_act_prof_delete_member(1: Context c, 2: string profile, 3: i32 member) throws (1: TableFailure f)
  void bm_mt_act_prof_modify_member(1: Context c, 2: string profile, 3: i32 member, 4: string action, 5: Arguments data) throws (1: TableFailure f)
  i32 bm_mt_act_prof_create_group(1: Context c, 2: string profile) throws (1: TableFailure f)
  void bm_mt_act_prof_delete_group(1: Context c, 2: string profile, 3: i32 group) throws (1: TableFailure f)
  void bm_mt_act_prof_add_member_to_group(1: Context c, 2: string profile, 3: i32 member, 4: i32 group) throws (1: TableFailure f)
  void bm_mt_act_prof_remove_member_from_group(1: Context c, 2: string profile, 3: i32 member, 4: i32 group) throws (1: TableFailure f)
  list<Member> bm_mt_act_prof_get_members(1: Context c, 2: string profile) throws (1: TableFailure f)
  Member bm_mt_act_prof_get_member(1: Context c, 2: string profile, 3: i32 member) throws (1: TableFailure f)
  list<Group> bm_mt_act_prof_get_groups(1: Context c, 2: string profile) throws (1: TableFailure f)
  Group bm_mt_act_prof_get_group(1: Context c, 2: string profile, 3: i32 group) throws (1: TableFailure f)

  i32 bm_mt_indirect_add_entry(1: Context c, 2: string table, 3: list<Match> key, 4: i32 member, 5: Options options) throws (1: TableFailure f)
  void bm_mt_indirect_modify_entry(1: Context c, 2: string table, 3: i32 entry, 4: i32 member) throws (1: TableFailure f)
  void bm_mt_indirect_delete_entry(1: Context c, 2: string table, 3: i32 entry) throws (1: TableFailure f)
  void bm_mt_indirect_set_entry_ttl(1: Context c, 2: string table, 3: i32 entry, 4: i32 timeout_ms) throws (1: TableFailure f)
  void bm_mt_indirect_set_default_member(1: Context c, 2: string table, 3: i32 member) throws (1: TableFailure f)
  void bm_mt_indirect_reset_default_entry(1: Context c, 2: string table) throws (1: TableFailure f)
  i32 bm_mt_indirect_ws_add_entry(1: Context c, 2: string table, 3: list<Match> key, 4: i32 group, 5: Options options) throws (1: TableFailure f)
  void bm_mt_indirect_ws_modify_entry(1: Context c, 2: string table, 3: i32 entry, 4: i32 group) throws (1: TableFailure f)
  void bm_mt_indirect_ws_set_default_group(1: Context c, 2: string table, 3: i32 group) throws (1: TableFailure f)

  CounterValue bm_mt_read_counter(1: Context c, 2: string table, 3: i32 entry) throws (1: TableFailure f)
  void bm_mt_reset_counters(1: Context c, 2: string table) throws (1: TableFailure f)
  void bm_mt_write_counter(1: Context c, 2: string table, 3: i32 entry, 4: CounterValue value) throws (1: TableFailure f)
  void bm_mt_set_meter_rates(1: Context c, 2: string table, 3: i32 entry, 4: list<Rate> rates) throws (1: TableFailure f)
  list<Rate> bm_mt_get_meter_rates(1: Context c, 2: string table, 3: i32 entry) throws (1: TableFailure f)
  list<Entry> bm_mt_get_entries(1: Context c, 2: string table) throws (1: TableFailure f)
  Entry bm_mt_get_entry(1: Context c, 2: string table, 3: i32 entry) throws (1: TableFailure f)
  ActionEntry bm_mt_get_default_entry(1: Context c, 2: string table) throws (1: TableFailure f)
  Entry bm_mt_get_entry_from_key(1: Context c, 2: string table, 3: list<Match> key, 4: Options options) throws (1: TableFailure f)

  CounterValue bm_counter_read(1: Context c, 2: string name, 3: i32 index) throws (1: CounterFailure f)
  void bm_counter_reset_all(1: Context c, 2: string name) throws (1: CounterFailure f)
  void bm_counter_write(1: Context c, 2: string name, 3: i32 index, 4: CounterValue value) throws (1: CounterFailure f)

  void bm_learning_ack(1: Context c, 2: i32 digest, 3: i64 buffer, 4: list<i32> samples) throws (1: LearnFailure f)
  void bm_learning_ack_buffer(1: Context c, 2: i32 digest, 3: i64 buffer) throws (1: LearnFailure f)
  void bm_learning_set_timeout(1: Context c, 2: i32 digest, 3: i32 timeout_ms) throws (1: LearnFailure f)
  void bm_learning_set_buffer_size(1: Context c, 2: i32 digest, 3: i32 samples) throws (1: LearnFailure f)

  void bm_load_new_config(1: string config) throws (1: SwapFailure f)
  void bm_swap_configs() throws (1: SwapFailure f)

  void bm_meter_array_set_rates(1: Context c, 2: string name, 3: list<Rate> rates) throws (1: MeterFailure f)
  void bm_meter_set_rates(1: Context c, 2: string name, 3: i32 index, 4: list<Rate> rates) throws (1: MeterFailure f)
  list<Rate> bm_meter_get_rates(1: Context c, 2: string name, 3: i32 index) throws (1: MeterFailure f)

  i64 bm_register_read(1: Context c, 2: string name, 3: i32 index) throws (1: RegisterFailure f)
  list<i64> bm_register_read_all(1: Context c, 2: string name) throws (1: RegisterFailure f)
  void bm_register_write(1: Context c, 2: string name, 3: i32 index, 4: i64 value) throws (1: RegisterFailure f)
  void bm_register_write_range(1: Context c, 2: string name, 3: i32 first, 4: i32 behind, 5: i64 value) throws (1: RegisterFailure f)
  void bm_register_reset(1: Context c, 2: string name) throws (1: RegisterFailure f)

  void bm_parse_vset_add(1: Context c, 2: string name, 3: binary value) throws (1: ValueSetFailure f)
  void bm_parse_vset_remove(1: Context c, 2: string name, 3: binary value) throws (1: ValueSetFailure f)
  list<binary> bm_parse_vset_get(1: Context c, 2: string name) throws (1: ValueSetFailure f)
  void bm_parse_vset_clear(1: Context c, 2: string name) throws (1: ValueSetFailure f)

  void bm_dev_mgr_add_port(1: string device, 2: i32 port, 3: string pcap) throws (1: PortFailure f)
  void bm_dev_mgr_remove_port(1: i32 port) throws (1: PortFailure f)
  list<Port> bm_dev_mgr_show_ports() throws (1: PortFailure f)

  Config bm_mgmt_get_info()
  void bm_set_crc16_custom_parameters(1: Context c, 2: string name, 3: Crc16 config) throws (1: CrcFailure f)
  void bm_set_crc32_custom_parameters(1: Context c, 2: string name, 3: Crc32 config) throws (1: CrcFailure f)
  void bm_set_toeplitz_hash_key(1: Context c, 2: string name, 3: binary key) throws (1: ToeplitzFailure f)
  void bm_reset_state()
  string bm_get_config()
  binary bm_get_config_md5()
  i32 bm_get_id_from_name(1: Context c, 2: i32 kind, 3: string name) throws (1: LookupFailure f)
  string bm_serialize_state()
}

// With LAGs (simple_switch's) and without.
service SimplePreLAG {
  i32 bm_mc_mgrp_create(1: Context c, 2: i32 group) throws (1: ReplicationFailure f)
  void bm_mc_mgrp_destroy(1: Context c, 2: i32 group) throws (1: ReplicationFailure f)
  i32 bm_mc_node_create(1: Context c, 2: i32 rid, 3: string ports, 4: string lags) throws (1: ReplicationFailure f)
  void bm_mc_node_associate(1: Context c, 2: i32 group, 3: i32 node) throws (1: ReplicationFailure f)
  void bm_mc_node_dissociate(1: Context c, 2: i32 group, 3: i32 node) throws (1: ReplicationFailure f)
  void bm_mc_node_destroy(1: Context c, 2: i32 node) throws (1: ReplicationFailure f)
  void bm_mc_node_update(1: Context c, 2: i32 node, 3: string ports, 4: string lags) throws (1: ReplicationFailure f)
  void bm_mc_set_lag_membership(1: Context c, 2: i16 lag, 3: string ports) throws (1: ReplicationFailure f)
  string bm_mc_get_entries(1: Context c) throws (1: ReplicationFailure f)
}

service SimplePre {
  i32 bm_mc_mgrp_create(1: Context c, 2: i32 group) throws (1: ReplicationFailure f)
  void bm_mc_mgrp_destroy(1: Context c, 2: i32 group) throws (1: ReplicationFailure f)
  i32 bm_mc_node_create(1: Context c, 2: i32 rid, 3: string ports) throws (1: ReplicationFailure f)
  void bm_mc_node_associate(1: Context c, 2: i32 group, 3: i32 node) throws (1: ReplicationFailure f)
  void bm_mc_node_dissociate(1: Context c, 2: i32 group, 3: i32 node) throws (1: ReplicationFailure f)
  void bm_mc_node_destroy(1: Context c, 2: i32 node) throws (1: ReplicationFailure f)
  void bm_mc_node_update(1: Context c, 2: i32 node, 3: string ports) throws (1: ReplicationFailure f)
  string bm_mc_get_entries(1: Context c) throws (1: ReplicationFailure f)
}

struct Mirror { 1: optional i32 port, 2: optional i32 mgid }

service SimpleSwitch {
  i32 mirroring_mapping_add(1: i32 session, 2: i32 port)
  i32 mirroring_mapping_delete(1: i32 session)
  i32 mirroring_mapping_get_egress_port(1: i32 session)
  void mirroring_session_add(1: i32 session, 2: Mirror config) throws (1: MirrorFailure f)
  void mirroring_session_delete(1: i32 session) throws (1: MirrorFailure f)
  Mirror mirroring_session_get(1: i32 session) throws (1: MirrorFailure f)
  i32 set_egress_priority_queue_depth(1: i32 port, 2: i32 queue, 3: i32 packets)
  i32 set_egress_queue_depth(1: i32 port, 2: i32 packets)
  i32 set_all_egress_queue_depths(1: i32 packets)
  i32 set_egress_priority_queue_rate(1: i32 port, 2: i32 queue, 3: i64 packets_per_second)
  i32 set_egress_queue_rate(1: i32 port, 2: i64 packets_per_second)
  i32 set_all_egress_queue_rates(1: i64 packets_per_second)
  i64 get_time_elapsed_us()
  i64 get_time_since_epoch_us()
}
