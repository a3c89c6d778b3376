//! Which pulls need an image check, and which images are covered by one.

use crate::image::PullPolicy;
use crate::pod::{List, Moment, Pod, Pull};
use crate::settings::Form;

/// An image that is not covered.
pub struct Uncovered {
    /// The position of the image in the list of all images.
    pub image: usize,
    /// The position of the first pull that needs a check.
    pub pull: usize,
    /// The pull policy that the check needs: the strongest of all pulls with this image.
    pub policy: PullPolicy,
}

/// The images that are not covered. `images` has the positions of the pulls with each image.
pub fn uncovered(pod: &Pod, images: &[Vec<usize>]) -> Vec<Uncovered> {
    let needs = Needs::of(pod);
    let uncovered = images.iter().enumerate().filter_map(|(image, pulls)| {
        let pull = needs.first_uncovered(pulls)?;
        let pulled = pod.at(pulls).filter(|pull| pull.moment.is_some());
        let policy = pulled.map(|pull| pull.policy).max()?;
        Some(Uncovered {
            image,
            pull,
            policy,
        })
    });
    uncovered.collect()
}

/// What decides whether the images of a Pod are covered.
struct Needs<'p, 'o> {
    pod: &'p Pod<'o>,
    /// The first init container.
    first_init: Option<&'p Pull<'o>>,
    /// When the Pod's work begins: with the app containers. If added checks are image volumes,
    /// with the first init container, if there is one.
    work: Moment,
    /// When the first pull is made that needs a check.
    first_needing: Moment,
    /// The number of app containers that are not exempt.
    apps: usize,
}

impl<'p, 'o> Needs<'p, 'o> {
    fn of(pod: &'p Pod<'o>) -> Self {
        let first_init = pod.first_init();
        let with_volumes = first_init.filter(|_| adds_volumes(pod));
        let mut needs = Self {
            pod,
            first_init,
            work: with_volumes
                .and_then(|pull| pull.moment)
                .unwrap_or(Moment::APPS),
            first_needing: Moment::APPS,
            apps: pod.apps().count(),
        };
        let pulls = pod.pulls.iter();
        let needing = pulls.filter(|pull| pull.is_examined() && needs.needs_check(pull));
        let first = needing.filter_map(|pull| pull.moment).min();
        needs.first_needing = first.unwrap_or(Moment::APPS);
        needs
    }

    /// The position of the first pull of an image that needs a check, if the image is not covered.
    ///
    /// A check covers its image even if it is too weak: *weak-check* is about such checks.
    /// Which pull is reported doesn't depend on strength, because *pull-once* may lower a pull: a
    /// second run reports the same one.
    fn first_uncovered(&self, pulls: &[usize]) -> Option<usize> {
        let pulls = || self.pod.at(pulls);
        let needing = || pulls().filter(|pull| self.needs_check(pull));
        let strongest = needing().map(|pull| pull.policy).max()?;
        if pulls().any(|pull| self.covers(pull, strongest)) {
            return None;
        }
        let mut uncovered = needing().filter(|pull| !self.blocks_everything(pull));
        uncovered.next().map(|pull| pull.position)
    }

    /// Whether an examined pull needs a check.
    fn needs_check(&self, pull: &Pull) -> bool {
        let moment = pull.moment;
        let is_protected = moment == Some(Moment::APPS) || moment > Some(self.work);
        let mut mounting = self.pod.at(&pull.mounted_by);
        let is_guarded = pull.list != List::Volumes
            || adds_volumes(self.pod) && mounting.any(|container| !container.settings.is_exempt);
        !pull.is_check && is_protected && is_guarded
    }

    /// Whether a pull covers its image. `strongest` is the strongest pull policy of the pulls with
    /// this image that need a check.
    fn covers(&self, pull: &Pull, strongest: PullPolicy) -> bool {
        let is_init = pull.list == List::InitContainers;
        if pull.is_check && is_init {
            // The controller's own checks come after the init container that brings their program.
            return pull.moment < Some(self.first_needing);
        }
        (pull.is_check || (is_init && pull.policy >= strongest)) && self.gates(pull)
    }

    /// Whether the Pod's work starts after this init container or image volume. An init container's
    /// own pull also gates the work that begins with it.
    fn gates(&self, pull: &Pull) -> bool {
        match pull.moment {
            Some(Moment::APPS) => {
                let apps = self.pod.at(&pull.mounted_by).filter(|pull| pull.is_app());
                self.work == Moment::APPS && apps.count() == self.apps
            }
            moment => moment.is_some_and(|moment| moment <= self.work),
        }
    }

    /// Whether all app containers start with this pull or not at all, and no init container does
    /// any work before. Native sidecars don't count.
    fn blocks_everything(&self, pull: &Pull) -> bool {
        let is_on_all = match pull.list {
            List::Volumes => self.gates(pull),
            _ => self.apps == 1,
        };
        self.first_init.is_none() && is_on_all
    }
}

/// Whether added checks are image volumes, and so block the whole Pod.
fn adds_volumes(pod: &Pod) -> bool {
    pod.settings.image_checks.form == Form::ImageVolume
}
