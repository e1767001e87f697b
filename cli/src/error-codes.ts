/**
 * The errors of the `superstep` command and the exit codes of programs, as `docs/errors.md` explains them. Long on purpose: one table.
 */
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"

export const cliCodes = {
  port_in_use: {
    http: [],
    what: "A port that the command needs is in use, or this user may not use it.",
    cause: "Another Superstep or another program listens there.",
    next: "Stop it (`ss -ltnp` shows it) or choose another port with the option that the message names.",
  },
  already_running: {
    http: [],
    what: "Superstep runs on this data folder, and a command that needs the folder for itself cannot start.",
    cause: "`superstep up` runs in another terminal or as a service.",
    next: "Stop it first, or use another folder with `--home`.",
  },
  take_over_under_way: {
    http: [],
    what: "Another start is taking the data folder over at this moment.",
    cause: "`superstep up` was started twice within seconds.",
    next: "Wait until that one has started.",
  },
  no_answer: {
    http: [],
    what: "The running `superstep up` does not hand the data folder over. Its agents keep running.",
    cause: "It hangs, or is in the middle of a long step.",
    next: "Wait and try again. If it hangs, end it with `kill -9` and the process id of the message, which leaves its agents alone, and start `superstep up`.",
  },
  other_settings: {
    http: [],
    what: "The running installation uses another database, so it cannot be taken over with these settings.",
    cause: "`DATABASE_URI` differs from that of the running process.",
    next: "Start with the former setting, or stop the agents first.",
  },
  control_plane_failed: {
    http: [],
    what: "The control plane exited before it was ready.",
    cause: "The message has the last lines of its log, often with an error of its own.",
    next: "Follow the error in those lines; the complete log is `logs/control.log` in the data folder.",
  },
  home_not_writable: {
    http: [],
    what: "The data folder cannot be used.",
    cause: "It is on a read-only disk, or belongs to another user.",
    next: "Choose another folder with `--home`, or change its owner.",
  },
  home_of_another: {
    http: [],
    what: "The data folder belongs to another user, who started Superstep on it.",
    cause: "A first start with `sudo`, and this one without.",
    next: "Run the command as that user; the message names the ways.",
  },
  home_half_restored: {
    http: [],
    what: "A backup is being restored into the data folder, or such a restore has stopped before its end.",
    cause: "`superstep up` beside or after an interrupted `superstep restore`.",
    next: "Wait for the restore. If it was killed or has failed, run it again: it begins anew, or completes what was already unpacked.",
  },
  credentials_lost: {
    http: [],
    what: "`credentials.json` of the data folder cannot be read or made again.",
    cause: "The file was changed by hand, or the workspace `default` was deleted.",
    next: "Remove the file to get new keys at the next start, or create keys with `superstep keys create`.",
  },
  no_connection: {
    http: [],
    what: "The command does not know which platform it should talk to, or has no key for it.",
    cause: "It runs in a folder without `.superstep`, or on another machine.",
    next: "Run it where the data folder is, or give `--url` and set `SUPERSTEP_API_KEY`.",
  },
  no_installation: {
    http: [],
    what: "The command works with the data folder of an installation, and there is none.",
    cause:
      "It runs in a folder without `.superstep`, or with that of `superstep dev`, and no installation of this user runs, or several do.",
    next: "Run it where the data folder is, or name that with `--home`.",
  },
  platform_away: {
    http: [],
    what: "No platform answers at the address.",
    cause: "It is stopped, the address is wrong, or its certificate is not trusted on this machine.",
    next: "Start it (`superstep up`), correct `--url`, or set `NODE_EXTRA_CA_CERTS` to the file of its CA.",
  },
  platform_refused: {
    http: [],
    what: "The platform, or a proxy before it, refused the request with an answer that has no code.",
    cause: "A proxy answers in place of the platform; the message has its text.",
    next: "Check the proxy, and that `--url` is the address of the control plane.",
  },
  no_such_deployment: {
    http: [],
    what: "The workspace has no such deployment.",
    cause: "A typing error, or a key of another workspace; the message lists what there is.",
    next: "Use a name of the list, or the key of the right workspace.",
  },
  not_deployed: {
    http: [],
    what: "The revision was not deployed, and has no error code.",
    cause: "The deployment has no revision, or it ended without a reason.",
    next: "See `superstep logs <name>`, then deploy again.",
  },
  not_restarted: {
    http: [],
    what: "The deployment does not answer after its restart.",
    cause: "It crashes or loads slowly; or it is paused or was deleted meanwhile.",
    next: "See `superstep logs <name>`.",
  },
  cannot_deploy: {
    http: [],
    what: "These options cannot be deployed.",
    cause: "`--repo` is a path, or the deployment of that name has another source.",
    next: "Follow the message: give an address of a repository, or another `--name`.",
  },
  archive_too_large: {
    http: [],
    what: "The packed project is larger than the platform accepts.",
    cause: "Models, data or packages are in the folder.",
    next: "Exclude them with `.gitignore` or `.dockerignore`.",
  },
  agent_refused: {
    http: [],
    what: "The agent cannot be reached, or refused a question of the command.",
    cause: "The agent is not running, or its own rules refuse the key.",
    next: "Check it with `superstep list`; the message has its text.",
  },
  import_refused: {
    http: [],
    what: "One of the two agent servers of an import refuses a request.",
    cause:
      "A wrong address or key, rules of the project that refuse the user, or a graph that does not take an update.",
    next: "Set the key or the user (`SUPERSTEP_FROM_API_KEY`, `SUPERSTEP_FROM_AUTHORIZATION`, `SUPERSTEP_TO_AUTHORIZATION`); the message has the server's words.",
  },
  import_away: {
    http: [],
    what: "One of the two agent servers of an import gave no usable answer for two minutes.",
    cause: "It is stopped, overloaded, or another program listens there.",
    next: "Run the same command again when it answers: it goes on where it was.",
  },
  not_all_imported: {
    http: [],
    what: "The import was stopped, or some of what it names is not on the new server as it is on the old one.",
    cause: "A busy thread, one that went on at one of the two servers, or a state that the API cannot write.",
    next: "See the lines above, and [moving](moving.md). Running the same command again is safe.",
  },
  no_canary: {
    http: [],
    what: "The deployment has no canary, or the share is no percentage from 1 to 99.",
    cause: "No revision was deployed with `--canary`.",
    next: "Make one with `superstep deploy --canary 10`.",
  },
  no_address: {
    http: [],
    what: "The deployment has no address yet.",
    cause: "No revision of it serves.",
    next: "Wait for its first revision (`superstep revisions <name>`).",
  },
  not_confirmed: {
    http: [],
    what: "The command deletes data for good, and was not confirmed.",
    cause: "`--yes` is missing.",
    next: "Repeat it with `--yes`.",
  },
  not_answered: {
    http: [],
    what: "The command has asked a question and got no answer.",
    cause: "The terminal was closed or Ctrl-C was pressed at the question.",
    next: "Repeat the command, and answer or give the value as an argument.",
  },
  no_value: {
    http: [],
    what: "The value of the secret is missing.",
    cause: "Standard input is a terminal.",
    next: "Send the value on standard input: `superstep secrets set NAME VARIABLE < file`.",
  },
  no_quota: {
    http: [],
    what: "The command names no quota, or a value that is no number.",
    cause: "An option is missing.",
    next: "Give one of the options that the message lists.",
  },
  whose_key: {
    http: [],
    what: "The command does not say whose key it is about.",
    cause: "Neither or both of `--workspace` and `--org` were given.",
    next: "Give one of them.",
  },
  database_elsewhere: {
    http: [],
    what: "`superstep backup` and `restore` need the Postgres that the platform starts itself.",
    cause: "The databases are on the server of `DATABASE_URI`.",
    next: "Back that server up with `pg_dumpall` or its own means, and copy the data folder ([operations](operations.md)).",
  },
  no_backup: {
    http: [],
    what: "The file is no backup that this release can restore, or lacks something that is needed.",
    cause: "Another file, a newer release, or an interrupted copy.",
    next: "Follow the message: restore with the newer release, or take another backup.",
  },
  cannot_restore: {
    http: [],
    what: "The installation is not ready for the restore.",
    cause:
      "There is no installation in the data folder, or the present deployment must be deleted first by a running one.",
    next: "Start `superstep up` first, then repeat the command.",
  },
  git_failed: {
    http: [],
    what: "git is not installed, or failed while the example was prepared.",
    cause: "The machine has no git.",
    next: "Install git, or start without the example (`--no-example`).",
  },
  no_project: {
    http: [],
    what: "The folder has no project: no `langgraph.json`, or one without graphs.",
    cause: "The command runs in another folder.",
    next: "Change into the project's folder, or create a project with `superstep new <name>`.",
  },
  bad_project_name: {
    http: [],
    what: "The name of the new project cannot be used.",
    cause: "Capital letters, spaces or other characters.",
    next: "Use up to 64 of a-z, 0-9, dot, dash and underscore.",
  },
  folder_not_empty: {
    http: [],
    what: "The folder of the new project has files.",
    cause: "A project of that name exists.",
    next: "Choose another name, or empty the folder.",
  },
  graphs_not_loaded: {
    http: [],
    what: "The process that loads the graphs did not report a result.",
    cause: "A module exits the process, or never ends loading.",
    next: "Do such work when the graph runs and not while its module loads.",
  },
  no_input: {
    http: [],
    what: "`superstep prove` does not know which input the graph takes.",
    cause: "Its input needs more than a message or texts, or it has no schema.",
    next: "Give an input with `--input`; the message has an example.",
  },
  cannot_prove: {
    http: [],
    what: "`superstep prove` came to no verdict.",
    cause: "It was stopped, the project does not start, its `auth` refuses the requests, or a graph fails undisturbed.",
    next: "Follow the message: correct the project, or give `--graph`, `--input` or `--header`.",
  },
  check_failed: {
    http: [],
    what: "`superstep check` has found problems.",
    cause: "The lines above the message name each.",
    next: "Correct them and check again.",
  },
  types_not_checked: {
    http: [],
    what: "The project's compiler could not check the types.",
    cause: "The project has no `typescript`, or the compiler itself failed.",
    next: "Run `npm install` in the project, or add `typescript` to its packages.",
  },
  env_file_missing: {
    http: [],
    what: "The file with variables does not exist.",
    cause: "`env` of `langgraph.json` names a file that was not created, often `.env`.",
    next: "Create it, or give another file with `--env-file`.",
  },
  python_not_installed: {
    http: [],
    what: "The project's Python packages could not be installed.",
    cause: "No Python from 3.10 on, requirements that exclude each other, or an index that is not reachable.",
    next: "Run the command of the message in the project.",
  },
  server_failed: {
    http: [],
    what: "The agent server of `superstep serve` exited.",
    cause: "The lines above the message have the reason.",
    next: "Correct it and start again; a supervisor such as systemd starts it again after a crash.",
  },
  not_ready: {
    http: [],
    what: "`superstep doctor` has found a requirement that is missing.",
    cause: "The lines above the message name each.",
    next: "Follow them and check again.",
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>

type CliCodes = typeof cliCodes

declare module "@superstep/toolkit/errors/codes" {
  interface ErrorCodes extends CliCodes {}
}

/** What the exit codes of programs mean. Any other code is that of your own code, or of a signal (128 and its number). */
export const exitCodes: Readonly<Record<number, ErrorEntry & { readonly of: string }>> = {
  0: {
    of: "every program",
    http: [],
    what: "Done, or stopped by a signal in good order.",
    cause: "The end of the command.",
    next: "Nothing.",
  },
  1: {
    of: "every program",
    http: [],
    what: "The command failed, or its arguments are wrong; standard error has the reason, and the entry of this page where there is one.",
    cause: "Any of the errors of this page.",
    next: "Follow the message. An agent server or a control plane that gets a second signal while it stops also exits with this code, without waiting for runs.",
  },
  2: {
    of: "`superstep prove`",
    http: [],
    what: "There is no verdict: 0 means that every promise held, and 1 that one was broken.",
    cause:
      "It was stopped, its arguments are wrong, the project does not start, or a graph fails when nothing attacks it.",
    next: "Follow the message, and start it again.",
  },
  13: {
    of: "`superstep` and other programs of Node",
    http: [],
    what: "The program waited for something that can never happen.",
    cause: "A bug of Superstep; in a build, a top-level `await` of the project that never settles.",
    next: "Report it with the command and its output, or correct the project.",
  },
  70: {
    of: "a worker",
    http: [],
    what: "The worker lost the connection to its server, or could not reach it. Its runs continue in another one.",
    cause: "The server was killed or stopped.",
    next: "See the log of the server; a worker alone needs no repair.",
  },
  71: {
    of: "a worker",
    http: [],
    what: "Code of the project failed outside of every run, so the process could not be trusted. Its runs continue in another one.",
    cause: "A timer or an event handler that the module sets up while it loads; in Python also a bug of the worker.",
    next: "Catch the error where it happens; the log of the deployment has its stack.",
  },
  127: {
    of: "a step of a build",
    http: [],
    what: "The command of the step does not exist on this machine.",
    cause: "A package manager or compiler that is not installed.",
    next: "Install it, or add it to the project's packages.",
  },
}
