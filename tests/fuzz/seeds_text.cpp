#include <array>
#include <string_view>

#include "tests/fuzz/seeds.hpp"

namespace tide::fuzz {
namespace {

// One word per line.
constexpr std::string_view kCommandLines[] = {
    "prun\n-n\n4\nhostname",
    "prun\n-np=4\n--host\nv1:2,v2\n--map-by\nnode:OVERSUBSCRIBE\n./a.out\n-n\n3",
    "prun\n-n4\n-x\nHOME,A_*\n--set-env\nX=1\n--unset-env\nY\nsh\n-c\ntrue",
    "prun\n--prepend-env\nPATH[:]\n/opt\n--append-env\nP\nq\n--wdir\nsub\n--output\ntag,merge\nls",
    "prun\n-n\n1\na\nb\n:\n-n\n2\n--host\nv3\nc\n:\n--\n-d",
    "prun\n--stdin\nnone\n--timeout\n90s\n--prtemca\ntide_stream_window\n64k\n--verbose\ncat",
    "prun\n--dvm\nwork\n--bynode\n--oversubscribe\nls",
    "prun\n--dvm-uri\nfile:/tmp/uri\n-H\nv1\nls",
    "prun\n--pid\n12\n--nprocs\n3\nls",
    "prun\n--namespace\ndvm@1\n-c\n2\nls",
    "prun\n--system-server-first\nls",
    "prun\n--help\nmap-by",
    "prun\n--hlep",
    "prun\n--hostfile\nf\nls",
    "prterun\n--nodes\n4\n--slots\n2\n-n\n8\n--prtemca\nrml_radix\n2\nls",
    "prterun\n-V",
    "pterm\n--force\n--dvm\nwork",
    "prte_info\n--param\nrml\nradix\n--json",
    "prte_info\n--parsable",
    "tide\nup\n--nodes\n4\n--slots=2\n--dvm\nwork\n--report-uri\n-\n--report-pid\n+",
    "tide\nup\n--prtemca\ntide_failpoint\nevent.link_down:hold",
    "tide\nrun\n-n\n2\n--map-by\nslot:over=no\nls\n-l",
    "tide\nstatus\n--json",
    "tide\njobs\n--all\n--json",
    "tide\nkill\n3\n--signal\nKILL",
    "tide\nkill\ndvm@3\n--signal\n15",
    "tide\nlogs\nv1\n--lines\n20\n--follow",
    "tide\nlogs\n--lines\nall",
    "tide\nparams\n--json",
    "tide\ndebug\nrelease\nevent.link_down",
    "tide\ndebug\nrecorder",
    "tide\ndown\n--all",
    "tide\nhelp\nrun\noutput",
    "tide\nstauts",
    "prte\n--nodes\n4\n--slots\n2\n--dvm\nwork\n--daemonize\n--show-progress\n--no-ready-msg",
    "prte\n-nodes=16\n--prtemca\nrml_radix\n2\n--report-uri=/tmp/uri\n--report-pid\n-",
    "prte\n--keepalive\n3\n--ready-fd\n4\n--one-shot\n-v\n--allow-run-as-root",
    "prte\n--hostfile\nf",
    "prte\n--prtemca\nras\nslurm\n--host\nnode1:2,+n1",
    "prte\n--nods\n4",
    "prte\n-h",
};

constexpr std::string_view kParameters[] = {
    R"(f# a comment
rml_radix = 2
tide_heartbeat_interval=250ms # another

state_base_verbose = 5
)",
    "fprte_set_default_slots = hwthreads\nprte_tmpdir_base = /tmp/x\nprte_max_msg_size = 64m\n",
    "fprte_set_default_slots = 4\ntide_listen_address = ::1\n",
    "ftide_heartbeat_interval = 9s\ntide_heartbeat_timeout = 8s\n",
    "frml_radx = 2\n",
    "fno equals here\n",
    "arml_radix=16\ntide_stream_window=1M\ntide_failpoint=event.link_down:hold,x:delay=20\n",
    "atide_kill_grace=2h\ntide_drain_grace=90\nplm_base_verbose=1",
    "v-9223372036854775808",
    "v1.5s",
    "v18446744073709551615",
    "v250ms",
    "v64K",
    "v2gb",
    "vENABLE",
    "v9999999999h",
};

constexpr std::string_view kTexts[] = {
    R"(d{"name":"work","dvm_id":"tide-host-1-ab","pid":1,"pid_start_ticks":5,
"uri":"tide-host-1-ab.0;tcp4://127.0.0.1:4000","nodes":4,"slots":8,
"started_unix_ms":1700000000000,"ready":true}
)",
    "d{\"name\":\"\\ud83d\\u0000\",\"dvm_id\":\"\",\"pid\":4294967296,\"ready\":false}",
    "d[[[[[[{}]]]]]]",
    "utide-host-1-ab.0;tcp4://127.0.0.1:4000\n",
    "udvm.3;tcp6://[::1]:65535",
    "ua.b.0;tcp6://[]:0",
    "fevent.link_down:hold, action.spawn_proc:fail,x:delay=200",
    "fx:delay=600001",
    "hnode[01-16,20] slots=4 max-slots=8\nme@[fe80::1]:2 # two\n^b\n+n0\n+e:2\n",
    "ha,b:2,r[1-2]n[01-02],+n0,^10.0.0.7,u@c",
    "gslurm\n17\n4(x3),2\nnode[1-2,07],gpu[1-1]-ib",
    "gslurm\n17\n\na[1-2]b[3-4]",
    "gpbs\n17.server\n\nn1\nn1\nn2\n",
    "glsf\n17\n\nh1 4 h2 2 ",
    "ggridengine\n17\n\nn1.east 4 all.q@n1.east UNDEFINED\nn2 2 all.q <NULL>\n",
    R"(gflux
f3ETxsR9H

{"version":1,"execution":{"R_lite":[{"rank":"0,2","children":{"core":"0-3","gpu":"0"}},
{"rank":"1","children":{"core":"[0-6,9]"}}],"nodelist":["tux[7-8]","rome"]}})",
    "wsearch\nsaerch",
    "wwork-1_a\nit's \"quoted\" $HOME\t\x01\x7f",
};

}  // namespace

void add_text_seeds(Seeds& seeds) {
  for (const auto text : kCommandLines) seeds.add("fuzz_command_line", std::string(text));
  for (const auto text : kParameters) seeds.add("fuzz_params", std::string(text));
  for (const auto text : kTexts) seeds.add("fuzz_text", std::string(text));
}

}  // namespace tide::fuzz
