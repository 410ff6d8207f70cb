//! Pages in scripts other than Latin, from short lists of everyday words and phrases.
//!
//! Where a script writes spaces the phrases stand apart by one; where it writes none they follow
//! each other, with the script's full stop after some.

use crate::random::Random;

/// A script, by a language that is written in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Han, without spaces.
    Chinese,
    /// Kana and kanji, without spaces.
    Japanese,
    /// Hangul, with spaces.
    Korean,
    /// Thai, without spaces.
    Thai,
    /// Arabic, from right to left.
    Arabic,
    /// Cyrillic.
    Russian,
    /// Devanagari, with vowel signs.
    Hindi,
}

impl Script {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Chinese,
        Self::Japanese,
        Self::Korean,
        Self::Thai,
        Self::Arabic,
        Self::Russian,
        Self::Hindi,
    ];

    /// The phrases, apart by bars.
    fn phrases(self) -> &'static str {
        match self {
            Self::Chinese => CHINESE,
            Self::Japanese => JAPANESE,
            Self::Korean => KOREAN,
            Self::Thai => THAI,
            Self::Arabic => ARABIC,
            Self::Russian => RUSSIAN,
            Self::Hindi => HINDI,
        }
    }

    fn separator(self) -> &'static str {
        match self {
            Self::Chinese | Self::Japanese | Self::Thai => "",
            Self::Korean | Self::Arabic | Self::Russian | Self::Hindi => " ",
        }
    }

    fn stop(self) -> &'static str {
        match self {
            Self::Chinese | Self::Japanese => "。",
            Self::Thai => " ",
            Self::Korean | Self::Arabic | Self::Russian => ". ",
            Self::Hindi => "। ",
        }
    }

    /// A word of the script that no phrase list holds.
    pub fn stranger(self) -> &'static str {
        match self {
            Self::Chinese => "蝙蝠",
            Self::Japanese => "ペンギン",
            Self::Korean => "고슴도치",
            Self::Thai => "แมงกะพรุน",
            Self::Arabic => "سلحفاة",
            Self::Russian => "черепаха",
            Self::Hindi => "कछुआ",
        }
    }
}

/// The phrases of a page, in order: see [`page`].
pub fn phrases(script: Script, random: &mut Random, count: usize) -> Vec<&'static str> {
    let all: Vec<&str> = script.phrases().split('|').collect();
    (0..count).map(|_| *random.pick(&all)).collect()
}

/// A page of phrases.
pub fn page(script: Script, phrases: &[&str]) -> String {
    let mut page = String::new();
    for (at, phrase) in phrases.iter().enumerate() {
        page.push_str(phrase);
        page.push_str(if at % 9 == 8 {
            script.stop()
        } else {
            script.separator()
        });
    }
    page
}

/// Two sentences that mean different things and share no phrase.
pub fn sentences(script: Script) -> [&'static str; 2] {
    match script {
        Script::Chinese => [
            "今天早上我在公园里看到三只白色的鸟。",
            "请把这份报告寄给财务部的王经理。",
        ],
        Script::Japanese => [
            "昨日の夜、友達と駅前で食事をしました。",
            "この機械の使い方を説明してください。",
        ],
        Script::Korean => [
            "어제 저녁에 친구와 함께 영화를 봤습니다.",
            "이 약은 하루에 세 번 식후에 드세요.",
        ],
        Script::Thai => ["เมื่อวานนี้ฉันไปตลาดกับแม่", "กรุณาปิดประตูหลังจากใช้ห้องน้ำ"],
        Script::Arabic => [
            "ذهبت إلى السوق مع أمي صباح أمس.",
            "يرجى إغلاق الباب بعد استخدام الغرفة.",
        ],
        Script::Russian => [
            "Вчера вечером мы ходили в театр.",
            "Пожалуйста, отправьте отчёт до пятницы.",
        ],
        Script::Hindi => ["कल शाम हम बाज़ार गए थे।", "कृपया यह पत्र डाकघर में दे दीजिए।"],
    }
}

const CHINESE: &str = "\
    城市|河流|图书馆|学生|昨天|明年|火车站|老师|可以|我们|经济|发展|重要的|研究|结果|显示|一个|新的|方法|\
    但是|因为|天气|很冷|所以|大家|都|留在|家里|吃饭|喝茶|音乐|电影|历史|文化|北方|南方|水果|价格|上涨|\
    政府|公布|数据|医院|医生|病人|孩子|喜欢|故事|晚上|月亮";

const JAPANESE: &str = "\
    東京|電車|学校|先生が|学生は|毎日|図書館で|勉強|しました|新しい|方法を|研究|結果|によると|天気が|とても|\
    寒い|ので|家で|本を|読む|ことが|できます|しかし|経済の|発展|重要な|問題|として|文化|歴史を|音楽|映画|\
    病院へ|行く|子供たち|物語が|好きです|夜の|月は|きれい|川の|近く|にある|町|市場で|果物|値段が|上がった|\
    カメラ";

const KOREAN: &str = "\
    도시|강가에|도서관에서|학생들이|공부를|합니다|어제|내년에|기차역|선생님은|우리는|경제|발전이|중요한|연구|\
    결과에|따르면|새로운|방법을|그러나|날씨가|매우|추워서|모두|집에|있었다|음악|영화를|역사와|문화|북쪽|\
    남쪽으로|과일|가격이|올랐다|정부는|자료를|발표했다|병원에서|의사가|환자를|아이들은|이야기를|좋아한다|저녁|\
    달이|밝다";

const THAI: &str = "\
    เมือง|แม่น้ำ|ห้องสมุด|นักเรียน|เรียน|หนังสือ|เมื่อวาน|ปีหน้า|\
    สถานีรถไฟ|ครู|พวกเรา|เศรษฐกิจ|พัฒนา|สำคัญ|วิจัย|ผลลัพธ์|\
    แสดงว่า|วิธีใหม่|แต่|เพราะ|อากาศ|หนาวมาก|ทุกคน|อยู่บ้าน|\
    กินข้าว|ดื่มชา|ดนตรี|ภาพยนตร์|ประวัติศาสตร์|วัฒนธรรม|\
    ภาคเหนือ|ภาคใต้|ผลไม้|ราคา|สูงขึ้น|รัฐบาล|ประกาศ|ข้อมูล|\
    โรงพยาบาล|หมอ|คนไข้|เด็ก|ชอบ|นิทาน|กลางคืน|พระจันทร์";

const ARABIC: &str = "\
    المدينة|النهر|المكتبة|الطلاب|يدرسون|كتاب|أمس|العام|القادم|\
    محطة|القطار|المعلم|نحن|الاقتصاد|التنمية|المهمة|بحث|النتائج|\
    تظهر|طريقة|جديدة|لكن|بسبب|الطقس|بارد|جدا|بقي|الجميع|في|البيت|\
    الموسيقى|الفيلم|التاريخ|الثقافة|الشمال|الجنوب|الفاكهة|\
    الأسعار|ارتفعت|الحكومة|أعلنت|البيانات|المستشفى|الطبيب|المريض|\
    الأطفال|يحبون|القصص";

const RUSSIAN: &str = "\
    город|река|в библиотеке|студенты|читают|книгу|вчера|\
    в следующем году|вокзал|учитель|мы|экономика|развитие|важный|\
    исследование|результаты|показывают|новый|способ|однако|из-за|\
    погода|очень|холодная|все|остались|дома|музыка|фильм|история|\
    культура|север|юг|фрукты|цены|выросли|правительство|объявило|\
    данные|больница|врач|пациент|дети|любят|сказки|вечером|луна|\
    светит";

const HINDI: &str = "\
    शहर|नदी|पुस्तकालय|विद्यार्थी|पढ़ते|किताब|कल|अगले|साल|रेलवे|\
    स्टेशन|शिक्षक|हम|अर्थव्यवस्था|विकास|महत्वपूर्ण|शोध|परिणाम|\
    दिखाते|नया|तरीका|लेकिन|क्योंकि|मौसम|बहुत|ठंडा|सब|लोग|घर|में|\
    रहे|संगीत|फ़िल्म|इतिहास|संस्कृति|उत्तर|दक्षिण|फल|कीमत|बढ़ी|\
    सरकार|ने|आँकड़े|अस्पताल|डॉक्टर|मरीज़|बच्चे|कहानी";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_is_in_no_phrase() {
        for script in Script::ALL {
            let page = page(script, &phrases(script, &mut Random::new(3), 500));
            assert!(!page.contains(script.stranger()), "{script:?}");
            assert!(page.chars().count() > 1000, "{script:?}");
        }
    }
}
