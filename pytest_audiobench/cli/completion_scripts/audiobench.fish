# fish: audiobench completion fish | source
function __audiobench
    set -l before (commandline -opc)
    set -l program $before[1]
    set -e before[1]
    set -l found ($program completion fish --words $before (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c audiobench -f -a '(__audiobench)'
