# Completion of queue-server for fish. Put this into ~/.config/fish/config.fish:
#   queue-server completion fish | source
function __queue_server
    set -l words (commandline -opc)
    set -l rows ($words[1] __complete $words[2..] (commandline -ct) 2>/dev/null)
    if contains -- :file $rows
        __fish_complete_path (commandline -ct)
    else if test (count $rows) -gt 0
        printf '%s\n' $rows
    end
end
complete -c queue-server -f -a '(__queue_server)'
