//! Stop words: words of grammar that say nothing about a passage's subject.

use std::{collections::HashMap, sync::LazyLock};

use super::Language;

/// Whether a lower-case word is one of grammar only.
pub fn is_stop_word(word: &str, language: Language) -> bool {
    // The longest word below has nine letters; most words are settled by this test.
    word.len() <= 18 && LISTS.get(&language).is_some_and(|list| list.binary_search(&word).is_ok())
}

static LISTS: LazyLock<HashMap<Language, Vec<&'static str>>> = LazyLock::new(|| {
    WORDS
        .iter()
        .map(|(language, words)| {
            let mut list: Vec<&str> = words.split_whitespace().collect();
            list.sort_unstable();
            (*language, list)
        })
        .collect()
});

const WORDS: &[(Language, &str)] = &[
    (
        Language::English,
        "a about above after again against all also am an and any are aren't as at be because been before being \
         below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during \
         each either few for from further had hadn't has hasn't have haven't having he he's her here here's hers \
         herself him himself his how how's i i'd i'll i'm i've if in into is isn't it it's its itself let's me more \
         most my myself neither no nor not of off on once only or other our ours ourselves out over own same she \
         she's should shouldn't so some such than that that's the their theirs them themselves then there there's \
         these they they're they've this those through to too under until up upon us very was wasn't we we'd we'll \
         we're we've were weren't what what's when where which while who who's whom whose why will with won't would \
         wouldn't you you'd you'll you're you've your yours yourself yourselves",
    ),
    (
        Language::Spanish,
        "a al algo algún alguna algunas alguno algunos ante antes aquel aquella aquellas aquello aquellos aquí así \
         aunque cada como cómo con contra cual cuál cuales cuáles cualquier cuando cuándo cuanto cuánto cuántos \
         cuántas de del desde donde dónde dos e el él ella ellas ello ellos en entre era eran eres es esa esas ese \
         eso esos esta está estaba estaban están estar estas este esto estos fue fueron ha había habían han hasta \
         hay he la las le les lo los más me mi mí mientras mis mucho muchos muy nada ni no nos nosotros nuestra \
         nuestras nuestro nuestros o os otra otras otro otros para pero poco por porque qué que quien quién quienes \
         quiénes se sea ser será si sí sido siendo sin sobre son su sus también tan tanto te tiene tienen toda todas \
         todo todos tras tu tus tú u un una unas uno unos usted ustedes y ya yo",
    ),
    (
        Language::German,
        "aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus \
         bei bin bis bist da damit dann das dass dein deine dem den denn der des dessen dich die dies diese diesem \
         diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer für gegen \
         hab habe haben hat hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist \
         jede jedem jeden jeder jedes jetzt kann kein keine keinem keinen keiner können man mein meine mich mir mit \
         nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner selbst sich sie sind so \
         solche soll sondern sonst über um und uns unser unter viel vom von vor war waren warum was weg weil weiter \
         welche welchem welchen welcher welches wenn werde werden wer wie wieder will wir wird wo wurde wurden zu zum \
         zur zwar zwischen",
    ),
    (
        Language::French,
        "à ai au aucun aussi autre autres aux avec avoir c'est ce ceci cela celle celles celui ces cet cette ceux \
         chaque ci comme comment d'un d'une dans de des donc dont du elle elles en encore entre es est et étaient \
         était été être eu eux fait il ils je l'on la là le les leur leurs lui ma mais me même mes moi mon ne ni nos \
         notre nous on ont ou où par pas peu peut plus pour pourquoi qu'elle qu'il qu'un qu'une quand que quel quelle \
         quelles quels qui quoi sa sans se sera ses si son sont sous sur ta te tes toi ton tous tout toute toutes très \
         tu un une vos votre vous y",
    ),
    (
        Language::Italian,
        "a ad agli ai al alla alle allo anche avere aveva c'è che chi ci come con contro cosa così cui da dagli dai \
         dal dalla dalle dallo degli dei del della delle dello di dove e è ed era erano essere fra gli ha hanno ho i \
         il in io la le lei li lo loro lui ma me mi mia mio molto ne negli nei nel nella nelle nello noi non nostro o \
         ogni per perché più poi qual quale quali quando quanto quella quelle quelli quello questa queste questi \
         questo qui se sei senza si sia sono su sua sue sugli sui sul sulla sulle sullo suo suoi tra tu tua tuo tutti \
         tutto un una uno vi voi",
    ),
    (
        Language::Portuguese,
        "a à ao aos aquela aquelas aquele aqueles aquilo as às até com como da das de dela delas dele deles depois do \
         dos e é ela elas ele eles em entre era eram essa essas esse esses esta está estão estas este estes eu foi \
         foram há isso isto já lhe lhes mais mas me mesmo meu meus minha minhas muito na nas não nem no nos nós nossa \
         nosso num numa o onde os ou para pela pelas pelo pelos por porque qual quais quando quanto que quem são se \
         sem ser será seu seus só sobre sua suas também te tem têm tinha toda todas todo todos tu tua um uma umas uns \
         você vocês",
    ),
    (
        Language::Dutch,
        "aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge \
         geen had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen maar me meer men \
         met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds te tegen toch toen tot u \
         uit uw van veel voor waar waarom wanneer want waren was wat welke werd wezen wie wil worden wordt zal ze zelf \
         zich zij zijn zo zonder zou",
    ),
    (
        Language::Russian,
        "а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее её \
         если есть еще ещё ж же за здесь и из или им их к как какая какие какой каких когда который которая которые \
         кто куда ли между меня мне может мы на над надо наш не него нее ней нет ни них но ну о об однако он она они \
         оно от очень по под после почему при с сам свою себе себя сколько со так также такой там те тем то того тоже \
         той только том ты у уже хотя чего чем что чтобы чтоб чья эта эти это этого этой этом этот я",
    ),
    (
        Language::Swedish,
        "alla allt att av blev bli blir de dem den denna deras dess det detta dig din dina ditt du där då efter ej \
         eller en er ett från för ha hade han hans har henne hennes hon honom hur här i icke ingen inom inte jag ju kan \
         kunde man med mellan men mig min mina mitt mot mycket ni nu när någon något några och om oss på samma sedan \
         sig sin sina sitta själv skulle som så till under upp ut utan vad var vara varför varit varje vem vi vid \
         vilka vilken vilket vår vårt är över",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_grammar_are_known_per_language() {
        assert!(is_stop_word("the", Language::English));
        assert!(!is_stop_word("the", Language::Spanish));
        assert!(is_stop_word("qué", Language::Spanish));
        assert!(!is_stop_word("server", Language::English));
        assert!(WORDS.iter().flat_map(|(_, words)| words.split_whitespace()).all(|word| word.len() <= 18));
    }
}
