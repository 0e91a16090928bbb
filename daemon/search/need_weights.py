"""The weights of the decision of need, as `python -m benchmarks.silence.fit` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "constant": -2.21,
    "asks": 2.264,
    "asks, known": -2.004,
    "begins as a question": 0.5272,
    "begins as a question, unknown": -3.509,
    "body only": -0.875,
    "known": 1.163,
    "known in names": 1.118,
    "known, rarest": -1.468,
    "length": 0.8186,
    "long": 1.296,
    "named": 5.236,
    "named, alone": 1.125,
    "pasted": 5.167,
    "places": 0.4518,
    "shaped": 1.406,
    "short": -4.319,
    "telling": 3.377,
    "telling words": 0.5318,
    "text, long": 1.1,
    "unknown": -1.936,
    "unknown, short": 3.701,
}
"""Weights of the logistic regression, by feature."""

_BY_WEIGHT = """
-2.5 you
-2.25 commit
-2.0 branch
-1.75 best build
-1.5 me merge run version what_is your
-1.25 ^check ^do ^is ^open ^run create folder git github good i last package pr
-1.0 22 ^best ^how again cannot ci clean code commits cost do_i first fix_the how_do install issue left
-1.0 make_a my next not on_github open plan pull push readme review run_the second_one space tests
-1.0 the_last tmp todo what_are why_is
-0.75 1 2 ^create ^delete ^explain ^fatal ^push ^rerun ^start ^what's a_changelog are_the better can_you
-0.75 changes continue could could_not create_a danke delete did difference difference_between do_in
-0.75 don't_change du end english explain fatal feature files fix great how_many how_much java json keep
-0.75 leave leave_the lint linux long looks main many me_the mean merci message much name new_branch node
-0.75 origin pip please pull_request python rebase release replaced rerun rest should_i show_me so stash
-0.75 status_code that's the_branch the_commit the_first the_issue the_pr the_tests time today todo_list
-0.75 try var was we what's without
-0.5 0 4 ^close ^commit ^draft ^git ^keep ^kill ^npm ^only ^option ^sí ^try ^wait ^when ^write ^はい a_file
-0.5 a_good a_pr about_our ahead and any are_you b back between changelog command command_not comment
-0.5 commit_message commit_the commit_this connect connect_to content das delete_the denied dependencies
-0.5 device did_you do_the docker domain draft enough enough_for entry everything exactly fail failed
-0.5 fails fast fine for_my for_now gracias green group how_to http installed is_it it_in it_shorter just
-0.5 keep_it kill later let's like lost mach me_a model none not_found now npm ones open_a our pass
-0.5 passing perfecto permission permission_denied points por post postgres problem really regex
-0.5 regex_for rerun_the resolve right same_for server shorter simpler skip_it start suite sync sí tag
-0.5 take test_suite testing than thanks that the_difference the_order the_release the_rest them this_is
-0.5 to to_origin update update_the vim wait way weiter whatever with_the working would write write_a à
-0.5 はい 谢谢
-0.25 16 3 9 ^bump ^cherry-pick ^clean ^continue ^did ^difference ^docs ^give ^go ^gracias ^great ^haha
-0.25 ^ja ^let's ^merci ^merge ^not ^oui ^publish ^rebase ^sorry ^sounds ^squash ^ssh ^stop ^summarize
-0.25 ^tag ^tell ^what ^who ^yep ^yes ^you a_different a_plan a_pull a_regex add_tests after_the all an
-0.25 and_commit answer anything as_the ascii away back_to bad bash berlin both broken bump but_keep
-0.25 called capital cherry-pick com come comments conflicts cool created day der description dev
-0.25 dev_server develop different do_that do_you drop_the duplicate eine else every example_org file find
-0.25 for_a for_it for_today found german github_com give give_me go_ahead go_with haha handle history
-0.25 host https i'd i'm i_install i_use i_was ich idempotent in is_that is_there it_on it_works ja la
-0.25 list local logs mac made makes makes_sense matches model_are more much_does nice no_leave of_this ok
-0.25 option option_2 or org origin_main oui oui_vas-y password per process publish push_to read_the
-0.25 recommend reduce remove_the reply repository request requests restart result result_of running runs
-0.25 rust saved say script see sense sent short simple small sorry sorry_i sounds sounds_good squash ssh
-0.25 ssl status step steps stop summarize switch tag_it take_a tell tell_me text that's_the the_cache
-0.25 the_commits the_default the_dev the_file the_lock the_log the_message the_next the_old the_server
-0.25 the_time the_weather there_a these think this_as threads three to_me to_the tokyo tomorrow tree und
-0.25 unix up_a upload use_the vas-y version_to warning weather what what_does what_i why_did yep yes
-0.25 you_run your_last
0.25 200 ^a ^after ^also ^an ^document ^error ^fix ^füge ^json ^move ^quelle ^raise ^release ^rename
0.25 ^replace ^show ^skip ^translate ^undo ^use ^warum a_limit a_response a_string adapter add_an
0.25 add_type address_of also_work although and_for and_how app array as be before big buffer bug but_the
0.25 can't can't_be chain change classes color colors commit_then configuration connection correct
0.25 crashes data dates deprecate_the deprecated digest digest_auth do_we docs_for does done encoding
0.25 environment exit field file_has file_is finish_the first_one folders for_that form free function
0.25 functions füge generic get_rid go good_now handler handlers has_no headers hints hinzu http2 i_get
0.25 id if_i ignore improve is_not is_the isn't it_is it_was its jobs las last_change let_me limit_the
0.25 line links loaded localhost lock logger lose lose_their make map match matched month mount move
0.25 needs negative never no_it numbers of of_a of_the only only_for path pick point prefix progress
0.25 quelle query raise reading refactor_the rename replace responses rid rid_of search second send
0.25 sending settings should_be show sorted streaming strip support_for test the_app the_configuration
0.25 the_deprecated the_environment the_exception the_exit the_host the_limit the_list the_logger
0.25 the_number the_page the_retry the_same the_second the_user there this trailing translate turn
0.25 type_hints types up uploads used user users value values verify warum what's_the when_i when_is
0.25 when_it where_are where_is why_do why_does why_not with with_a with_an without_a writes written
0.5 ^comment ^deprecate ^don't ^dónde ^list ^make ^now ^remove ^retry ^then ^whats ^which a_new a_test
0.5 add_a agent all_the an_empty an_error and_fix and_the are_shown arrays as_a at_once at_the body but
0.5 by by_default bytes cache call calls case check_that class cli closed closing configurable
0.5 connection_is connections decoding deprecate docstring dónde dónde_se einen el empty enum
0.5 error_messages exception expose fields flag for for_large format from_a from_the für gesetzt
0.5 happens_to have how_does i_add if_the indentation index input into is is_never is_this it it_should
0.5 know large larger larger_than let let_the limits load login loop max messages mode module must names
0.5 nothing notice number_of of_range ok_but old on_windows once other out out_of outside own où page
0.5 permissions pool range register remove report return says second_argument several shown since slow
0.5 something stream string strings test_for that_it that_was the_body the_cli the_config the_connection
0.5 the_export the_input the_multipart the_other the_output the_request the_response the_session their
0.5 then_the thread thread_safe unknown urls use_a user_agent were whats whats_the when_a where_do which
0.5 who_calls why wie_werden windows wird
0.75 ^better ^but ^default ^does ^implement ^it ^log ^print ^speed ^the ^where's ^why ^wie ^wo ^как
0.75 a_second add after_a also argument async at by_one can_i chunk_size config constants context cookie
0.75 cookies csv de deprecation die each from gives groups has help here how implement is_missing
0.75 is_still it_to keys les memory method middleware multipart new off off_by on optional order order_of
0.75 output params print print_the proxies public py records response safe sont sort speed speed_up still
0.75 the the_client the_new the_parser timeout too transport undo une what_do when_the where where's
0.75 where's_the wie wo как
1.0 ^accept ^allow ^drop ^let ^refactor ^support ^tests accept after allow can date default drop
1.0 exceptions export get hangs if instead_of limit los make_the maximum methods missing nested null
1.0 option_to parser python_3 redirects refactor retry stored then what_happens
1.25 ^where client helper how_are instead log se session size support twice url werden
1.5 ^and ^can are callback does_it for_the header should startup tests_for what_about
1.75 happens how_is when
2.0 in_the
"""

PHRASES: Final[Mapping[str, float]] = {
    phrase: float(weight)
    for weight, *phrases in map(str.split, _BY_WEIGHT.strip().split("\n"))
    for phrase in phrases
}
"""Weights of the phrases of a prompt (see `need.phrases_of`), in steps of a quarter."""
